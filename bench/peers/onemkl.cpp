// oneMKL's inspector-executor: it may store the matrix in a form of its own after being told of many
// multiplies.
#include <algorithm>

#include <mkl_service.h>
#include <mkl_spblas.h>
#include <omp.h>

#include "protocol.hpp"

namespace {

constexpr int expected_multiplies = 1'000'000;  // any conversion may pay

void require(sparse_status_t status) {
  if (status == SPARSE_STATUS_ALLOC_FAILED) throw std::bad_alloc();
  if (status == SPARSE_STATUS_NOT_SUPPORTED) throw peers::cannot("oneMKL does not support it");
  if (status != SPARSE_STATUS_SUCCESS)
    throw std::runtime_error("oneMKL fails with " + std::to_string(status));
}

template <class V> struct functions;
template <> struct functions<float> {
  static constexpr auto create_csr = mkl_sparse_s_create_csr;
  static constexpr auto multiply = mkl_sparse_s_mv;
};
template <> struct functions<double> {
  static constexpr auto create_csr = mkl_sparse_d_create_csr;
  static constexpr auto multiply = mkl_sparse_d_mv;
};

template <class V> class with_onemkl final : public peers::simple_multiplier {
 public:
  explicit with_onemkl(const peers::matrix_file& file) : x_(file.x<V>(), file.cols), y_(file.rows) {
    peers::require_short(file);  // in the interface of 64 bits a column would take 8 bytes
    if (file.rows == 0 || file.cols == 0) throw peers::cannot("oneMKL takes no empty matrix");
    row_begin_ = peers::own_array<MKL_INT>(file.row_begin, file.rows + 1);
    col_ = peers::own_array<MKL_INT>(file.col, file.nnz);
    val_ = peers::own_array<V>(file.val<V>(), file.nnz);
    const auto start = std::chrono::steady_clock::now();
    require(functions<V>::create_csr(&a_, SPARSE_INDEX_BASE_ZERO, static_cast<MKL_INT>(file.rows),
                                     static_cast<MKL_INT>(file.cols), row_begin_.data(),
                                     row_begin_.data() + 1, col_.data(), val_.data()));
    require(mkl_sparse_set_mv_hint(a_, SPARSE_OPERATION_NON_TRANSPOSE, general, expected_multiplies));
    require(mkl_sparse_optimize(a_));
    seconds = peers::seconds_since(start);
  }
  ~with_onemkl() override { mkl_sparse_destroy(a_); }

  void multiply() override {
    require(functions<V>::multiply(SPARSE_OPERATION_NON_TRANSPOSE, V{1}, a_, general, x_.data(), V{0},
                                   y_.data()));
  }
  void copy_result(char* to) override { std::copy_n(y_.data(), y_.size(), reinterpret_cast<V*>(to)); }

 private:
  static constexpr matrix_descr general{SPARSE_MATRIX_TYPE_GENERAL, SPARSE_FILL_MODE_FULL,
                                        SPARSE_DIAG_NON_UNIT};
  sparse_matrix_t a_ = nullptr;  // refers to the arrays
  peers::own_array<MKL_INT> row_begin_, col_;
  peers::own_array<V> val_, x_, y_;
};

}  // namespace

int main() {
  // The threads of the other peers' OpenMP, and as many of them: oneMKL would take one per core.
  mkl_set_threading_layer(MKL_THREADING_GNU);
  mkl_set_interface_layer(MKL_INTERFACE_LP64);
  mkl_set_dynamic(0);
  mkl_set_num_threads(omp_get_max_threads());
  MKLVersion version;
  mkl_get_version(&version);
  return peers::serve(
      "oneMKL " + std::to_string(version.MajorVersion) + "." + std::to_string(version.UpdateVersion),
      peers::make_in_its_precision<with_onemkl>);
}
