#include <nonzero/core/values.hpp>
#include <nonzero/plan/planner_internal.hpp>

namespace nz {
namespace {

bool is_for_cpu(const plan_options& options) { return !options.on || options.on->kind() == device_kind::cpu; }

}  // namespace

template <class V> plan<V> make_plan(csr_view<V> a, const plan_options& options) {
  if (!is_for_cpu(options)) return make_device_plan<V>(place_csr(a, options.on), options);
  return make_cpu_plan<V>(a, nullptr, true, options);
}

template <class V> plan<V> make_plan(csr_view<V, std::int32_t> a, const plan_options& options) {
  if (!is_for_cpu(options)) return make_device_plan<V>(place_csr(a, options.on), options);
  auto wide = std::make_shared<const widened_csr<V>>(a);
  plan<V> out = make_plan(wide->view, options);
  out.keep(std::move(wide));
  return out;
}

template <class V> plan<V> make_plan(const csr<V>& a, const plan_options& options) {
  if (!is_for_cpu(options)) return make_device_plan<V>(place_csr(a, options.on), options);
  return make_cpu_plan<V>(a, nullptr, false, options);
}

template <class V> plan<V> make_plan(csr<V>&& a, const plan_options& options) {
  if (!is_for_cpu(options)) return make_device_plan<V>(place_csr(a, options.on), options);
  auto owned = std::make_unique<const csr<V>>(std::move(a));
  const csr_view<V> kept = *owned;
  return make_cpu_plan<V>(kept, std::move(owned), true, options);
}

template <class V>
plan<V> make_plan(const std::shared_ptr<const device_csr<V>>& a, const plan_options& options) {
  if (options.on && options.on != a->where())
    throw device_error("the matrix is on " + a->where()->description() +
                       ", not on the device asked for: " + options.on->description());
  return make_device_plan<V>(a, options);
}

#define NONZERO_INSTANTIATE(V)                                                \
  template plan<V> make_plan(csr_view<V>, const plan_options&);               \
  template plan<V> make_plan(csr_view<V, std::int32_t>, const plan_options&); \
  template plan<V> make_plan(const csr<V>&, const plan_options&);             \
  template plan<V> make_plan(csr<V>&&, const plan_options&);                  \
  template plan<V> make_plan(const std::shared_ptr<const device_csr<V>>&, const plan_options&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
