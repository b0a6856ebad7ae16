#include <algorithm>

#include <nonzero/plan/device_model_internal.hpp>
#include <nonzero/plan/kernels.hpp>

namespace nz {

double predict_seconds(const prediction& of, const device_features& a, double waiting) {
  const double moving = (of.bytes + a.vector_bytes()) / a.bytes_per_second + of.gathers * waiting;
  return launch_seconds + std::max(moving, of.steps * step_seconds);
}

double predict_conversion(const kernel_row& kernel, const prediction& of, const device_features& a) {
  // CSR to the host, the result back, and threads that fill it: bytes of CSR per second.
  constexpr double host_speed = 2e9;
  if (!kernel.converts_on_device) return a.csr_bytes / host_speed;
  return conversion_seconds + of.passes * a.csr_bytes / a.bytes_per_second;
}

const kernel_row& preferred_csr_kernel(device_kind kind, const device_features& a) {
  const kernel_row* best = nullptr;
  for (const kernel_row& kernel : kernels())
    if (kernel.runs_on == kind && kernel.format == "csr" && kernel.predict != nullptr &&
        (best == nullptr || kernel.predict(a).preference > best->predict(a).preference))
      best = &kernel;
  return *best;
}

const kernel_row& smallest_csr_kernel(device_kind kind) {
  return *std::ranges::find_if(
      kernels(), [&](const kernel_row& kernel) { return kernel.runs_on == kind && kernel.is_smallest; });
}

}  // namespace nz
