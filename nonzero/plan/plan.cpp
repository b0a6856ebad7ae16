#include <nonzero/plan/planner_internal.hpp>

namespace nz {

template <class V> plan<V> make_plan(const csr<V>& a, const plan_options& options) {
  return make_cpu_plan<V>(a, nullptr, options);
}

template <class V> plan<V> make_plan(csr<V>&& a, const plan_options& options) {
  auto owned = std::make_unique<const csr<V>>(std::move(a));
  const csr<V>& kept = *owned;
  return make_cpu_plan<V>(kept, std::move(owned), options);
}

template plan<float> make_plan(const csr<float>&, const plan_options&);
template plan<double> make_plan(const csr<double>&, const plan_options&);
template plan<float> make_plan(csr<float>&&, const plan_options&);
template plan<double> make_plan(csr<double>&&, const plan_options&);

}  // namespace nz
