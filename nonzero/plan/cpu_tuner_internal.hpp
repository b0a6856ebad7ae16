#pragma once

#include <memory>
#include <string_view>

#include <nonzero/plan/tuner_internal.hpp>

namespace nz {

/// The CPU's base: it needs no conversion.
constexpr std::string_view fallback_kernel = "csr_balanced";

/// The tuner on the CPU. Every candidate of its table converts a sample of the rows, which says what it
/// would take for the whole.
template <class V> class cpu_tuner final : public tuner<V> {
 public:
  /// Times csr_balanced, which borrows `a`. `simd` is as in plan_options.
  cpu_tuner(csr_view<V> a, const tuner_options& terms, std::string_view simd);

  double bytes_per_second() const { return bytes_per_second_; }
  double waiting_seconds() const { return waiting_seconds_; }
  /// What reading all that a multiply by csr_balanced needs would take, were it in order.
  double reading_seconds() const;
  double time(const prepared_matrix<V>& ready) override { return time_multiply(ready, y_.size()); }

 private:
  using tuner<V>::terms_;
  using tuner<V>::csr_bytes_;

  struct forecast {
    double bytes = 0, seconds = 0, conversion = 0;  // of the whole matrix
  };
  forecast predict_whole(const kernel_row& kernel) const;
  forecast predict_triangle(const kernel_row& kernel) const;
  double time_multiply(const prepared_matrix<V>& ready, std::size_t rows) const;
  double time_sample(const kernel_row& kernel, const prepared_matrix<V>& ready) const;
  void predict(const kernel_row& kernel);
  void predict_all() override;
  std::unique_ptr<prepared_matrix<V>> convert_for(std::string_view kernel) override;
  double time_base() override { return time_multiply(*csr_, y_.size()); }

  csr_view<V> a_;
  std::string_view simd_;
  array<V> x_;
  mutable array<V> y_;
  std::unique_ptr<prepared_matrix<V>> csr_;
  csr<V> sample_;
  double scale_ = 1;  // the matrix against the sample
  double bytes_per_second_ = 0, waiting_seconds_ = 0;
};

}  // namespace nz
