// Plans for CSR arrays that a program already has: nothing is copied, except by a plan that converts.
//   own_arrays

#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include <nonzero/nonzero.hpp>

#if __has_include(<Eigen/SparseCore>)
#  include <Eigen/SparseCore>
#endif

namespace {

//     | 4 1 · |
// A = | · 3 · |     A (1, 1, 1) = (5, 3, 7)
//     | 2 · 5 |
void from_vectors() {
  std::vector<std::int32_t> row_begin = {0, 2, 3, 5};  // or std::int64_t
  std::vector<std::int32_t> col = {0, 1, 1, 0, 2};
  std::vector<double> val = {4, 1, 3, 2, 5};

  auto plan = nz::make_plan(nz::csr_view{3, 3, row_begin, col, val});  // borrows the arrays
  std::vector<double> x(3, 1.0), y(3);
  plan.multiply(x, y);

  std::printf("std::vector: %g %g %g\n", y[0], y[1], y[2]);
}

#if __has_include(<Eigen/SparseCore>)
void from_eigen() {
  Eigen::SparseMatrix<double, Eigen::RowMajor> a(3, 3);
  a.insert(0, 0) = 4;
  a.insert(0, 1) = 1;
  a.insert(1, 1) = 3;
  a.insert(2, 0) = 2;
  a.insert(2, 2) = 5;
  a.makeCompressed();

  nz::csr_view view(static_cast<nz::index>(a.rows()), static_cast<nz::index>(a.cols()), a.nonZeros(),
                    a.outerIndexPtr(), a.innerIndexPtr(), a.valuePtr());  // row-major and compressed
  auto plan = nz::make_plan(view);
  Eigen::VectorXd x = Eigen::VectorXd::Ones(3), y(3);
  plan.multiply({x.data(), 3}, {y.data(), 3});

  std::printf("Eigen: %g %g %g\n", y[0], y[1], y[2]);
}
#else
void from_eigen() { std::puts("Eigen: not installed"); }
#endif

}  // namespace

int main() try {
  from_vectors();
  from_eigen();
} catch (const std::exception& e) {
  std::fprintf(stderr, "own_arrays: %s\n", e.what());
  return 1;
}
