// Reads a matrix and multiplies it by a vector of ones: on a graph, the number of links of each page.
//   multiply [FILE]

#include <algorithm>
#include <cstdio>
#include <exception>
#include <vector>

#include <nonzero/nonzero.hpp>

int main(int argc, char** argv) try {
  const char* file = argc > 1 ? argv[1] : "examples/data/debian-packages.mtx";

  auto a = nz::read<double>(file);  // .mtx, .mtx.gz, .tar.gz or .npz
  std::vector<double> x(a.cols, 1.0), y(a.rows);
  auto plan = nz::make_plan(a, {.expected_multiplies = 1000});  // chooses format and kernel
  plan.multiply(x, y);                                          // y = A x
  plan.multiply(2.0, x, -1.0, y);                               // y = 2 A x - y

  std::printf("%d x %d, %lld entries; largest of y: %g\n", a.rows, a.cols, static_cast<long long>(a.nnz()),
              y.empty() ? 0.0 : *std::max_element(y.begin(), y.end()));
} catch (const std::exception& e) {
  std::fprintf(stderr, "multiply: %s\n", e.what());
  return 1;
}
