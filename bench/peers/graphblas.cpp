// SuiteSparse:GraphBLAS: y = A x over plus and times, A held by rows, x and y full.
#include <algorithm>
#include <cstdlib>

extern "C" {
#include <GraphBLAS.h>
}

#include "protocol.hpp"

namespace {

void require(GrB_Info info) {
  if (info != GrB_SUCCESS) throw std::runtime_error("GraphBLAS fails with " + std::to_string(info));
}

template <class V> struct operators;
template <> struct operators<float> {
  static GrB_Type type() { return GrB_FP32; }
  static GrB_Semiring plus_times() { return GrB_PLUS_TIMES_SEMIRING_FP32; }
  static GrB_Info extract(GrB_Index* i, float* v, GrB_Index* n, GrB_Vector y) {
    return GrB_Vector_extractTuples_FP32(i, v, n, y);
  }
};
template <> struct operators<double> {
  static GrB_Type type() { return GrB_FP64; }
  static GrB_Semiring plus_times() { return GrB_PLUS_TIMES_SEMIRING_FP64; }
  static GrB_Info extract(GrB_Index* i, double* v, GrB_Index* n, GrB_Vector y) {
    return GrB_Vector_extractTuples_FP64(i, v, n, y);
  }
};

/// A copy in memory that GraphBLAS may take over and free.
template <class To, class From> To* copy_of(const From* from, std::int64_t size) {
  auto* const out =
      static_cast<To*>(std::malloc(static_cast<std::size_t>(std::max<std::int64_t>(size, 1)) * sizeof(To)));
  if (out == nullptr) throw std::bad_alloc();
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < size; ++i) out[i] = static_cast<To>(from[i]);
  return out;
}

template <class V> class with_graphblas final : public peers::simple_multiplier {
 public:
  explicit with_graphblas(const peers::matrix_file& file) : rows_(static_cast<GrB_Index>(file.rows)) {
    const auto cols = static_cast<GrB_Index>(file.cols), nnz = static_cast<GrB_Index>(file.nnz);
    const bool is_sorted = file.is_sorted();
    const peers::own_array<std::int32_t> col(file.col, file.nnz);
    auto* row_begin = copy_of<GrB_Index>(file.row_begin, file.rows + 1);
    void *val = copy_of<V>(file.val<V>(), file.nnz), *x = copy_of<V>(file.x<V>(), file.cols);
    require(GrB_Matrix_new(&a_, operators<V>::type(), rows_, cols));
    require(GrB_Vector_new(&x_, operators<V>::type(), cols));
    require(GrB_Vector_new(&y_, operators<V>::type(), rows_));
    require(GxB_Vector_pack_Full(x_, &x, cols * sizeof(V), false, nullptr));

    const auto start = std::chrono::steady_clock::now();
    auto* wide_col = copy_of<GrB_Index>(col.data(), file.nnz);  // this library keeps them in 64 bits
    require(GxB_Matrix_pack_CSR(a_, &row_begin, &wide_col, &val, (rows_ + 1) * sizeof(GrB_Index),
                                std::max<GrB_Index>(nnz, 1) * sizeof(GrB_Index),
                                std::max<GrB_Index>(nnz, 1) * sizeof(V), false, !is_sorted, nullptr));
    require(GxB_Matrix_Option_set(a_, GxB_FORMAT, GxB_BY_ROW));
    require(GrB_Matrix_wait(a_, GrB_MATERIALIZE));
    seconds = peers::seconds_since(start);
  }
  ~with_graphblas() override {
    GrB_Matrix_free(&a_);
    GrB_Vector_free(&x_);
    GrB_Vector_free(&y_);
  }

  void multiply() override {
    require(GrB_mxv(y_, nullptr, nullptr, operators<V>::plus_times(), a_, x_, nullptr));
    require(GrB_Vector_wait(y_, GrB_MATERIALIZE));
  }

  /// Rows without entries have none in y.
  void copy_result(char* to) override {
    const auto rows = static_cast<std::int64_t>(rows_);
    const peers::own_array<GrB_Index> at(rows);
    const peers::own_array<V> found(rows);
    GrB_Index count = rows_;
    require(operators<V>::extract(at.data(), found.data(), &count, y_));
    V* const y = reinterpret_cast<V*>(to);
    std::fill_n(y, rows, V{0});
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(count); ++k) y[at[k]] = found[k];
  }

 private:
  GrB_Index rows_;
  GrB_Matrix a_ = nullptr;
  GrB_Vector x_ = nullptr, y_ = nullptr;
};

}  // namespace

int main() {
  if (GrB_init(GrB_NONBLOCKING) != GrB_SUCCESS) return 1;
  const std::string version = std::to_string(GxB_IMPLEMENTATION_MAJOR) + "." +
                              std::to_string(GxB_IMPLEMENTATION_MINOR) + "." +
                              std::to_string(GxB_IMPLEMENTATION_SUB);
  const int status =
      peers::serve("SuiteSparse:GraphBLAS " + version, peers::make_in_its_precision<with_graphblas>);
  GrB_finalize();
  return status;
}
