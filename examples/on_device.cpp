// Multiplies on a GPU, with x and y in its memory; without a GPU, in the emulator.
//   on_device [FILE] [DEVICE]

#include <algorithm>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

#include <nonzero/nonzero.hpp>

namespace {

std::string first_gpu() {
  const auto devices = nz::devices();
  const bool has_gpu = std::any_of(devices.begin(), devices.end(),
                                   [](const auto& d) { return d->kind() == nz::device_kind::cuda; });
  return has_gpu ? "cuda" : "emulator";
}

}  // namespace

int main(int argc, char** argv) try {
  const auto a = nz::read<double>(argc > 1 ? argv[1] : "examples/data/debian-packages.mtx");
  const std::string name = argc > 2 ? argv[2] : first_gpu();

  auto gpu = nz::find_device(name);           // "cuda", or "emulator" without a GPU
  auto plan = nz::make_plan(a, {.on = gpu});  // copies A to the GPU once
  nz::vector<double> x(gpu, std::vector<double>(a.cols, 1.0)), y(gpu, a.rows);
  plan.multiply(x, y);                         // y = A x, in any stream; does not copy or wait
  std::vector<double> row_sums = y.to_host();  // waits

  std::printf("%s, %s: the sum of all entries is %g\n", gpu->description().c_str(), plan.kernel().c_str(),
              std::accumulate(row_sums.begin(), row_sums.end(), 0.0));
} catch (const std::exception& e) {
  std::fprintf(stderr, "on_device: %s\n", e.what());
  return 1;
}
