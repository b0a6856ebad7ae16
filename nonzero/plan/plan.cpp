#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <nonzero/core/threads.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/plan/measuring_internal.hpp>

// make_plan for owners, views and matrices on devices: who owns the arrays, and whether values are rounded.
namespace nz {
namespace {

using owner = std::shared_ptr<const void>;

bool is_for_cpu(const plan_options& options) { return !options.on || options.on->kind() == device_kind::cpu; }

/// Whether values of this type can be held in single precision instead.
template <class A> constexpr bool can_be_rounded = std::is_same_v<A, double>;

float round_to_single(double value) {
  if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max())
    throw unsupported(
        "a value of the matrix is too large for single precision; scale the matrix, or keep its values in "
        "double (stored_values::same)");
  return static_cast<float>(value);
}
array<float> round_to_single(std::span<const double> values) {
  constexpr std::int64_t grain = 1 << 18;
  array<float> out(values.size());
  parallel_ranges(static_cast<std::int64_t>(values.size()), grain, 0,
                  [&](std::int64_t begin, std::int64_t end) {
                    std::transform(values.begin() + begin, values.begin() + end, out.begin() + begin,
                                   [](double value) { return round_to_single(value); });
                  });
  return out;
}

/// make(values in single precision), whose time counts as planning.
template <class V, class Make> plan<V> plan_rounded(std::span<const double> values, const Make& make) {
  const auto start = std::chrono::steady_clock::now();
  array<float> single = round_to_single(values);
  const double seconds = seconds_since(start);
  plan<V> out = make(std::move(single));
  out.add_planning(seconds);
  return out;
}

plan_options as_given(plan_options options) {
  options.values = stored_values::same;
  return options;
}

/// make(the matrix as trusted), with the seconds that validation takes.
template <class V, class Matrix, class Make>
plan<V> plan_validated(const Matrix& a, bool is_trusted, const Make& make) {
  const auto start = std::chrono::steady_clock::now();
  const Matrix valid = validated(a, is_trusted);
  const double seconds = is_trusted ? 0 : seconds_since(start);
  plan<V> out = make(valid);
  out.add_validation(seconds);
  return out;
}

/// `a` is trusted. `kept` owns arrays of `a`, if it is not null.
template <class V, class A, class Offset>
plan<V> plan_for(csr_view<A, Offset> a, const owner& kept, bool may_borrow, const plan_options& options) {
  if constexpr (can_be_rounded<A>)
    if (options.values == stored_values::single)
      return plan_rounded<V>(a.val, [&](array<float> rounded) {
        auto values = std::make_shared<const array<float>>(std::move(rounded));
        const csr_view<float, Offset> single(a.rows, a.cols, a.row_begin, a.col, *values);
        return plan_for<V>(trusted(single), std::make_shared<std::pair<owner, owner>>(values, kept),
                           may_borrow, options);
      });
  if (!is_for_cpu(options)) return plan_on_device<V>(place_csr(a, options.on), options);
  if constexpr (std::is_same_v<Offset, offset>) {
    return plan_on_cpu<V>(a, kept, may_borrow, options);
  } else {
    auto wide = std::make_shared<const std::pair<widened_csr<A>, owner>>(a, kept);
    return plan_on_cpu<V>(wide->first.view, wide, may_borrow, options);
  }
}

template <class V, class A, class Offset>
plan<V> plan_view(csr_view<A, Offset> a, bool may_borrow, const plan_options& options) {
  return plan_validated<V>(a, options.is_trusted || a.is_trusted, [&](const auto& valid) {
    return plan_for<V>(valid, nullptr, may_borrow, options);
  });
}

/// `a` is trusted.
template <class V, class A>
plan<V> plan_placed(const std::shared_ptr<const device_csr<A>>& a, const plan_options& options) {
  if (options.on && options.on != a->where())
    throw device_error("the matrix is on " + a->where()->description() +
                       ", not on the device asked for: " + options.on->description());
  if (a->where()->kind() == device_kind::cpu) {  // the host's memory: a view, kept alive by `a`
    if (a->is_wide()) return plan_for<V>(a->template view<offset>(), a, true, options);
    return plan_for<V>(a->template view<std::int32_t>(), a, true, options);
  }
  if constexpr (can_be_rounded<A>)
    if (options.values == stored_values::single) {
      const csr<A> host = to_host(*a);
      return plan_rounded<V>(host.val, [&](const array<float>& values) {
        const csr_view<float> single(host.rows, host.cols, host.row_begin, host.col, values);
        return plan_on_device<V>(place_csr(trusted(single), a->where(), a->is_wide()), options);
      });
    }
  return plan_on_device<V>(a, options);
}

template <class V, class A>
plan<V> plan_for(const std::shared_ptr<const device_csr<A>>& a, const plan_options& options) {
  return plan_validated<V>(a, options.is_trusted || (a && a->is_trusted),
                           [&](const auto& valid) { return plan_placed<V>(valid, options); });
}

}  // namespace

void refuse_empty_plan() {
  throw unsupported("this plan was moved to another and is empty; use the other, or make a new plan");
}

template <class V> plan<V> make_plan(csr_view<V> a, const plan_options& options) {
  return plan_view<V>(a, true, options);
}

template <class V> plan<V> make_plan(csr_view<V, std::int32_t> a, const plan_options& options) {
  return plan_view<V>(a, true, options);
}

template <class V> plan<V> make_plan(const csr<V>& a, const plan_options& options) {
  return plan_view<V>(csr_view<V>(a), false, options);
}

/// What validation and rounding throw, they throw before anything is moved.
template <class V> plan<V> make_plan(csr<V>&& a, const plan_options& options) {
  return plan_validated<V>(csr_view<V>(a), options.is_trusted, [&](const auto&) {
    if constexpr (can_be_rounded<V>)
      if (options.values == stored_values::single)
        return plan_rounded<V>(a.val, [&](array<float> values) {
          a.val = {};
          const auto own = std::make_shared<const csr<float>>(
              csr<float>{a.rows, a.cols, std::move(a.row_begin), std::move(a.col), std::move(values)});
          return plan_for<V>(trusted(*own), own, true, options);
        });
    const auto own = std::make_shared<const csr<V>>(std::move(a));
    return plan_for<V>(trusted(*own), own, true, options);
  });
}

template <class V>
plan<V> make_plan(const std::shared_ptr<const device_csr<V>>& a, const plan_options& options) {
  return plan_for<V>(a, options);
}

template <class V, class A>
requires(!std::is_same_v<A, V>) plan<V> make_plan(csr_view<A> a, const plan_options& options) {
  return plan_view<V>(a, true, as_given(options));
}
template <class V, class A>
requires(!std::is_same_v<A, V>) plan<V> make_plan(csr_view<A, std::int32_t> a, const plan_options& options) {
  return plan_view<V>(a, true, as_given(options));
}
template <class V, class A>
requires(!std::is_same_v<A, V>) plan<V> make_plan(const std::shared_ptr<const device_csr<A>>& a,
                                                  const plan_options& options) {
  return plan_for<V>(a, as_given(options));
}

#define NONZERO_INSTANTIATE(V)                                                \
  template plan<V> make_plan(csr_view<V>, const plan_options&);               \
  template plan<V> make_plan(csr_view<V, std::int32_t>, const plan_options&); \
  template plan<V> make_plan(const csr<V>&, const plan_options&);             \
  template plan<V> make_plan(csr<V>&&, const plan_options&);                  \
  template plan<V> make_plan(const std::shared_ptr<const device_csr<V>>&, const plan_options&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

#define NONZERO_INSTANTIATE(A, V)                                                   \
  template plan<V> make_plan<V, A>(csr_view<A>, const plan_options&);               \
  template plan<V> make_plan<V, A>(csr_view<A, std::int32_t>, const plan_options&); \
  template plan<V> make_plan<V, A>(const std::shared_ptr<const device_csr<A>>&, const plan_options&);
NONZERO_FOR_EACH_MIXED(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
