// Multiplies on a GPU, with x and y kept there; where there is none, in the emulator.
//   on_device [FILE]

#include <cstdio>
#include <exception>
#include <numeric>
#include <vector>

#include <nonzero/nonzero.hpp>

int main(int argc, char** argv) try {
  const auto a = nz::read<double>(argc > 1 ? argv[1] : "examples/data/debian-packages.mtx");

  auto ready = nz::find_kernel("csr_vector").prepare(a);  // on the card if there is one, else emulated
  nz::vector<double> x(ready->where(), std::vector<double>(a.cols, 1.0)), y(ready->where(), a.rows);
  ready->multiply(1.0, x, 0.0, y);             // y = A x, in any stream, without a copy or a wait
  std::vector<double> row_sums = y.to_host();  // waits

  std::printf("%s: all entries together are %g\n", ready->where()->description().c_str(),
              std::accumulate(row_sums.begin(), row_sums.end(), 0.0));
} catch (const std::exception& e) {
  std::fprintf(stderr, "on_device: %s\n", e.what());
  return 1;
}
