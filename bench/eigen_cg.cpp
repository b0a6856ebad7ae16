// Eigen's conjugate gradients on a matrix, to compare nz solve with: A row-major, both triangles, OpenMP.
//
//     eigen_cg MATRIX none|jacobi [--tolerance T] [--max-iterations N] [--times K] [--out X]
//
// b is all ones. Prints one line of JSON; the time per iteration is that of the fastest of K solves. X: the
// solution's numbers as text.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <string>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include <nonzero/io/generate.hpp>
#include <nonzero/io/read.hpp>

namespace {

using matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
using numbers = Eigen::VectorXd;

struct arguments {
  std::string name, preconditioner, out;
  double tolerance = 1e-8;
  long most = 0;
  int times = 3;
};

matrix load(const std::string& name) {
  const nz::csr<double> a =
      nz::generate::is_spec(name) ? nz::generate::from_spec<double>(name) : nz::read<double>(name);
  matrix out(a.rows, a.cols);
  out.resizeNonZeros(a.nnz());
  std::copy(a.row_begin.begin(), a.row_begin.end(), out.outerIndexPtr());
  std::copy(a.col.begin(), a.col.end(), out.innerIndexPtr());
  std::copy(a.val.begin(), a.val.end(), out.valuePtr());
  return out;
}

template <class Preconditioner> int solve(const arguments& asked) {
  const matrix a = load(asked.name);
  const numbers b = numbers::Ones(a.rows());
  Eigen::ConjugateGradient<matrix, Eigen::Lower | Eigen::Upper, Preconditioner> solver;
  solver.setTolerance(asked.tolerance);
  solver.setMaxIterations(asked.most > 0 ? asked.most : std::max<long>(100, 10 * a.rows()));
  solver.compute(a);
  numbers x;
  double least = 0;
  for (int i = 0; i < asked.times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    x = solver.solve(b);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    least = i == 0 ? seconds : std::min(least, seconds);
  }
  const double residual = (b - a * x).norm() / b.norm();
  std::printf(
      "{\"matrix\": \"%s\", \"iterations\": %ld, \"residual\": %.6e, \"recursive_residual\": %.6e, "
      "\"seconds_per_iteration\": %.6e, \"threads\": %d}\n",
      asked.name.c_str(), static_cast<long>(solver.iterations()), residual, solver.error(),
      least / static_cast<double>(std::max<long>(1, solver.iterations())), Eigen::nbThreads());
  if (!asked.out.empty()) {
    std::ofstream file(asked.out);
    file << std::setprecision(17);
    for (Eigen::Index i = 0; i < x.size(); ++i) file << x[i] << '\n';
  }
  return 0;
}

int usage() {
  std::fputs("eigen_cg MATRIX none|jacobi [--tolerance T] [--max-iterations N] [--times K] [--out X]\n",
             stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc % 2 == 0) return usage();
  arguments asked{argv[1], argv[2], "", 1e-8, 0, 3};
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--tolerance")
      asked.tolerance = std::stod(argv[i + 1]);
    else if (option == "--max-iterations")
      asked.most = std::stol(argv[i + 1]);
    else if (option == "--times")
      asked.times = std::stoi(argv[i + 1]);
    else if (option == "--out")
      asked.out = argv[i + 1];
    else
      return usage();
  }
  try {
    if (asked.preconditioner == "none") return solve<Eigen::IdentityPreconditioner>(asked);
    if (asked.preconditioner == "jacobi") return solve<Eigen::DiagonalPreconditioner<double>>(asked);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "eigen_cg: %s\n", e.what());
    return 1;
  }
  return usage();
}
