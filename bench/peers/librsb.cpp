// librsb's recursive sparse blocks, after its own search for the best blocking.
#include <algorithm>

#include <rsb.h>

#include "protocol.hpp"

namespace {

constexpr double most_tuning = 20;  // seconds
constexpr int tuning_rounds = 4;

void require(rsb_err_t code) {
  if (code == RSB_ERR_NO_ERROR) return;
  char text[256] = {};
  rsb_strerror_r(code, text, sizeof text);
  throw std::runtime_error(text);
}

template <class V> class with_librsb final : public peers::simple_multiplier {
 public:
  explicit with_librsb(const peers::matrix_file& file) : x_(file.x<V>(), file.cols), y_(file.rows) {
    peers::require_short(file);
    if (file.nnz == 0) throw peers::cannot("librsb takes no matrix without entries");
    const peers::own_array<int> row_begin(file.row_begin, file.rows + 1), col(file.col, file.nnz);
    const peers::own_array<V> val(file.val<V>(), file.nnz);
    std::fill_n(y_.data(), y_.size(), V{0});
    const auto start = std::chrono::steady_clock::now();
    rsb_err_t code = RSB_ERR_NO_ERROR;
    a_ = rsb_mtx_alloc_from_csr_const(val.data(), row_begin.data(), col.data(), file.nnz, type, file.rows,
                                      file.cols, RSB_DEFAULT_ROW_BLOCKING, RSB_DEFAULT_COL_BLOCKING,
                                      RSB_FLAG_NOFLAGS | RSB_FLAG_DUPLICATES_SUM, &code);
    require(code);
    if (a_ == nullptr) throw std::runtime_error("librsb makes nothing of it");
    const V one = 1, zero = 0;
    // Also picks the number of threads it likes best, up to ours.
    rsb_tune_spmm(&a_, nullptr, nullptr, tuning_rounds, most_tuning, RSB_TRANSPOSITION_N, &one, nullptr, 1,
                  RSB_FLAG_WANT_COLUMN_MAJOR_ORDER, x_.data(), file.cols, &zero, y_.data(), file.rows);
    seconds = peers::seconds_since(start);
  }
  ~with_librsb() override { rsb_mtx_free(a_); }

  void multiply() override {
    const V one = 1, zero = 0;
    require(rsb_spmv(RSB_TRANSPOSITION_N, &one, a_, x_.data(), 1, &zero, y_.data(), 1));
  }
  void copy_result(char* to) override { std::copy_n(y_.data(), y_.size(), reinterpret_cast<V*>(to)); }

 private:
  static constexpr rsb_type_t type =
      sizeof(V) == sizeof(float) ? RSB_NUMERICAL_TYPE_FLOAT : RSB_NUMERICAL_TYPE_DOUBLE;
  rsb_mtx_t* a_ = nullptr;
  peers::own_array<V> x_, y_;
};

}  // namespace

int main() {
  if (rsb_lib_init(RSB_NULL_INIT_OPTIONS) != RSB_ERR_NO_ERROR) return 1;
  const int status =
      peers::serve("librsb " NONZERO_LIBRSB_VERSION, peers::make_in_its_precision<with_librsb>);
  rsb_lib_exit(RSB_NULL_EXIT_OPTIONS);
  return status;
}
