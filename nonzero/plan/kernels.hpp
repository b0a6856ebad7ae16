#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <nonzero/formats/csr.hpp>

namespace nz {

/// A matrix made ready for one kernel: converted to its format, and placed where it runs.
template <class V> class prepared_matrix {
 public:
  virtual ~prepared_matrix() = default;
  /// y = alpha * A x + beta * y. With beta = 0, y is never read. Throws `shape_error` if x or y does not fit.
  virtual void multiply(V alpha, std::span<const V> x, V beta, std::span<V> y) const = 0;
  /// What the converted matrix takes.
  virtual footprint storage() const = 0;
};

/// A row of the table of formats.
struct format_row {
  std::string_view name, summary;
  /// What a matrix would take, found without converting it.
  footprint (*footprint_float)(const csr<float>&);
  footprint (*footprint_double)(const csr<double>&);

  template <class V> footprint footprint_of(const csr<V>& a) const {
    if constexpr (sizeof(V) == sizeof(float))
      return footprint_float(a);
    else
      return footprint_double(a);
  }
};

/// A row of the table of kernels. What is not in the table does not exist.
struct kernel_row {
  std::string_view name;     // <format>_<schedule>
  std::string_view format;   // a name in formats()
  std::string_view runs_on;  // "cpu"
  bool is_repeatable;        // bitwise the same result every time
  std::string_view summary;
  std::unique_ptr<prepared_matrix<float>> (*prepare_float)(const csr<float>&, padding_budget);
  std::unique_ptr<prepared_matrix<double>> (*prepare_double)(const csr<double>&, padding_budget);

  /// Converts `a` for this kernel. Throws `unsupported` where the format would break the budget.
  template <class V>
  std::unique_ptr<prepared_matrix<V>> prepare(const csr<V>& a, padding_budget budget = {}) const {
    if constexpr (sizeof(V) == sizeof(float))
      return prepare_float(a, budget);
    else
      return prepare_double(a, budget);
  }
};

std::span<const format_row> formats();
std::span<const kernel_row> kernels();

/// The kernel of that name; `unsupported`, naming those that exist, if there is none.
const kernel_row& find_kernel(std::string_view name);

}  // namespace nz
