// Eigen's product of a row-major sparse matrix and a vector, which OpenMP spreads over the threads.
#include <algorithm>

#include <Eigen/SparseCore>

#include "protocol.hpp"

namespace {

template <class V> class with_eigen final : public peers::simple_multiplier {
 public:
  explicit with_eigen(const peers::matrix_file& file) {
    peers::require_short(file);
    const peers::own_array<int> row_begin(file.row_begin, file.rows + 1), col(file.col, file.nnz);
    const peers::own_array<V> val(file.val<V>(), file.nnz);
    x_ = Eigen::Map<const vector>(file.x<V>(), file.cols);
    y_ = vector::Zero(file.rows);
    const auto start = std::chrono::steady_clock::now();
    a_ = Eigen::Map<const matrix>(file.rows, file.cols, file.nnz, row_begin.data(), col.data(), val.data());
    seconds = peers::seconds_since(start);
  }

  void multiply() override { y_.noalias() = a_ * x_; }
  void copy_result(char* to) override { std::copy_n(y_.data(), y_.size(), reinterpret_cast<V*>(to)); }

 private:
  using matrix = Eigen::SparseMatrix<V, Eigen::RowMajor, int>;
  using vector = Eigen::Matrix<V, Eigen::Dynamic, 1>;
  matrix a_;
  vector x_, y_;
};

}  // namespace

int main() {
  const std::string version = std::to_string(EIGEN_WORLD_VERSION) + "." +
                              std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
  return peers::serve("Eigen " + version, peers::make_in_its_precision<with_eigen>);
}
