// The loop that anyone would write: a thread takes a range of rows, all ranges of about equally many
// entries. Row offsets are in 32 bits where they fit, as they are in everybody's CSR.
#include <algorithm>

#include <omp.h>

#include "protocol.hpp"

namespace {

template <class Offset, class V> class rows_per_thread final : public peers::simple_multiplier {
 public:
  explicit rows_per_thread(const peers::matrix_file& file)
      : row_begin_(file.row_begin, file.rows + 1),
        col_(file.col, file.nnz),
        val_(file.val<V>(), file.nnz),
        x_(file.x<V>(), file.cols),
        y_(file.rows) {
    const auto start = std::chrono::steady_clock::now();
    const int threads = omp_get_max_threads();
    const Offset* const begin = row_begin_.data();
    for (int t = 0; t <= threads; ++t)
      first_row_.push_back(std::lower_bound(begin, begin + file.rows, file.nnz * t / threads) - begin);
    first_row_.front() = 0, first_row_.back() = file.rows;
    seconds = peers::seconds_since(start);
  }

  void multiply() override {
#pragma omp parallel
    {
      const auto t = static_cast<std::size_t>(omp_get_thread_num());
      for (std::int64_t i = first_row_[t]; i < first_row_[t + 1]; ++i) {
        V sum = 0;
        for (Offset k = row_begin_[i]; k < row_begin_[i + 1]; ++k) sum += val_[k] * x_[col_[k]];
        y_[i] = sum;
      }
    }
  }
  void copy_result(char* to) override { std::copy_n(y_.data(), y_.size(), reinterpret_cast<V*>(to)); }

 private:
  peers::own_array<Offset> row_begin_;
  peers::own_array<std::int32_t> col_;
  peers::own_array<V> val_, x_, y_;
  std::vector<std::int64_t> first_row_;  // of each thread, and the end
};

template <class V> std::unique_ptr<peers::multiplier> make(const peers::matrix_file& file) {
  if (file.nnz <= INT32_MAX) return std::make_unique<rows_per_thread<std::int32_t, V>>(file);
  return std::make_unique<rows_per_thread<std::int64_t, V>>(file);
}

}  // namespace

int main() {
  omp_set_dynamic(0);
  return peers::serve("OpenMP", [](const std::string& path) {
    const peers::matrix_file file(path);
    return file.value_size == sizeof(float) ? make<float>(file) : make<double>(file);
  });
}
