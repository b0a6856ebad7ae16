#pragma once

#include <memory>
#include <string_view>

#include <nonzero/plan/device_model_internal.hpp>
#include <nonzero/plan/tuner_internal.hpp>

namespace nz {

/// The tuner on a GPU, or in the emulator. The kernels of CSR share the matrix as it lies there, so those
/// that may suit are timed, and the fastest is the base. Others are predicted from the surveys.
template <class V> class device_tuner final : public tuner<V> {
 public:
  /// Times the kernels of CSR.
  device_tuner(std::shared_ptr<const device_csr<V>> a, const device_features& features,
               const device_surveys<V>& surveys, const tuner_options& terms);

  double bytes_per_second() const { return features_.bytes_per_second; }
  double waiting_seconds() const { return waiting_seconds_; }
  /// The base, made ready.
  std::unique_ptr<prepared_matrix<V>> take_base() { return std::move(base_); }

 private:
  using tuner<V>::terms_;

  void choose_base();
  void predict_all() override;
  void predict(const kernel_row& kernel);
  std::unique_ptr<prepared_matrix<V>> convert_for(std::string_view kernel) override;
  double time(const prepared_matrix<V>& ready) override;
  double time_base() override { return time(*base_); }

  std::shared_ptr<const device_csr<V>> a_;
  device_features features_;
  device_surveys<V> surveys_;
  vector<V> x_, y_;
  vector<double> sums_;
  std::unique_ptr<prepared_matrix<V>> base_;
  std::vector<plan_candidate> other_csr_;  // kernels of CSR that are not the base
  double waiting_seconds_ = 0;
};

}  // namespace nz
