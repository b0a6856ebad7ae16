#include <nonzero/plan/planner_internal.hpp>

namespace nz {

namespace {

bool is_for_cpu(const plan_options& options) { return !options.on || options.on->kind() == device_kind::cpu; }

}  // namespace

template <class V> plan<V> make_plan(const csr<V>& a, const plan_options& options) {
  if (!is_for_cpu(options)) return make_device_plan<V>(place_csr(a, options.on), options);
  return make_cpu_plan<V>(a, nullptr, options);
}

template <class V> plan<V> make_plan(csr<V>&& a, const plan_options& options) {
  if (!is_for_cpu(options)) return make_device_plan<V>(place_csr(a, options.on), options);
  auto owned = std::make_unique<const csr<V>>(std::move(a));
  const csr<V>& kept = *owned;
  return make_cpu_plan<V>(kept, std::move(owned), options);
}

template <class V>
plan<V> make_plan(const std::shared_ptr<const device_csr<V>>& a, const plan_options& options) {
  if (options.on && options.on != a->where())
    throw device_error("the matrix is on " + a->where()->description() +
                       ", not on the device asked for: " + options.on->description());
  return make_device_plan<V>(a, options);
}

template plan<float> make_plan(const csr<float>&, const plan_options&);
template plan<double> make_plan(const csr<double>&, const plan_options&);
template plan<float> make_plan(csr<float>&&, const plan_options&);
template plan<double> make_plan(csr<double>&&, const plan_options&);
template plan<float> make_plan(const std::shared_ptr<const device_csr<float>>&, const plan_options&);
template plan<double> make_plan(const std::shared_ptr<const device_csr<double>>&, const plan_options&);

}  // namespace nz
