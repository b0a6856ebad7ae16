#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>

#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/measure.hpp>
#include <nonzero/plan/plan.hpp>

namespace nz {

/// Throws `shape_error` for numbers at a null pointer.
template <class T> void require_there(const char* name, std::span<const T> numbers) {
  if (!numbers.empty() && numbers.data() == nullptr)
    throw shape_error(std::string(name) + " is a null pointer with a length above 0");
}

/// A matrix as trusted, and the seconds that validating it took.
template <class Matrix> struct validated_matrix {
  Matrix matrix;
  double seconds = 0;

  validated_matrix(const Matrix& given, bool is_trusted) {
    const auto start = std::chrono::steady_clock::now();
    matrix = validated(given, is_trusted);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (!is_trusted) seconds = passed.count();
  }
  void report_in(plan_report& report) const {
    report.validation_seconds += seconds;
    report.seconds += seconds;
  }
};
template <class V, class Offset>
validated_matrix<csr_view<V, Offset>> validate_for(csr_view<V, Offset> a, const plan_options& options) {
  return {a, a.is_trusted || options.is_trusted};
}
template <class V>
validated_matrix<std::shared_ptr<const device_csr<V>>> validate_for(
    const std::shared_ptr<const device_csr<V>>& a, const plan_options& options) {
  return {a, options.is_trusted || (a && a->is_trusted)};
}

/// A matrix made ready for an algorithm: by a plan, or by one kernel, which the report then names.
template <class V> struct ready_matrix {
  std::shared_ptr<const prepared_matrix<V>> prepared;  // keeps the plan alive, if there is one
  plan_report report;
};

template <class V> ready_matrix<V> ready_by_plan(plan<V> made) {
  const auto own = std::make_shared<const plan<V>>(std::move(made));
  return {{own, &own->prepared()}, own->report()};
}

template <class V>
ready_matrix<V> ready_by_kernel(std::string_view name, std::shared_ptr<const prepared_matrix<V>> prepared) {
  plan_report report;
  report.kernel = name;
  report.kind = prepared->where()->kind();
  return {std::move(prepared), std::move(report)};
}

/// The matrix prepared for the peer (another library's kernel) that multiplies it fastest on its device, or
/// for the kernel of the given name. Throws `unsupported` where that device has none.
template <class V>
ready_matrix<V> prepare_fastest_peer(const std::shared_ptr<const device_csr<V>>& a,
                                     const std::string& kernel) {
  const auto& on = a->where();
  if (!kernel.empty()) return ready_by_kernel<V>(kernel, find_kernel(kernel, on->kind()).prepare(a));
  const vector<V> x(on, std::vector<V>(static_cast<std::size_t>(a->cols), V{1}));
  vector<V> y(on, static_cast<std::size_t>(a->rows));
  std::string_view best_name;
  std::shared_ptr<const prepared_matrix<V>> best;
  double best_seconds = 0;
  for (const kernel_row& row : kernels()) {
    if (row.runs_on != on->kind() || !row.is_peer) continue;
    try {
      std::shared_ptr<const prepared_matrix<V>> prepared = row.prepare(a);
      const double seconds =
          measure(*on, [&](stream in) { prepared->multiply(V{1}, x, V{0}, y, in); }, {.budget_seconds = 0.05})
              .seconds;
      if (best == nullptr || seconds < best_seconds) {
        best_name = row.name;
        best = std::move(prepared);
        best_seconds = seconds;
      }
    } catch (const unsupported&) {  // not for this matrix, or the library is missing
    }
  }
  if (best == nullptr) throw unsupported("there is no other library's product on " + on->description());
  return ready_by_kernel(best_name, std::move(best));
}

}  // namespace nz
