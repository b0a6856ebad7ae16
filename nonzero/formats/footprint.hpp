#pragma once

#include <cstdint>
#include <string_view>

#include <nonzero/core/errors.hpp>

namespace nz {

/// What a matrix takes in a format, known before anything is converted. Saturates at 2^64-1.
struct footprint {
  std::uint64_t bytes = 0;          // all arrays together
  std::uint64_t padding_bytes = 0;  // of those, what holds no entry

  friend bool operator==(const footprint&, const footprint&) = default;
};

/// How much padding a conversion may add, as a multiple of the bytes of the CSR it starts from. One full row
/// must not turn a sparse matrix dense.
struct padding_budget {
  double times_csr = 4.0;
};

/// Throws `unsupported`, naming the padded size, if `target` breaks the budget. Conversions call it before
/// they allocate.
void require_within_budget(std::string_view format, footprint target, footprint csr, padding_budget budget);

/// What arrays take together.
template <class... Arrays> std::uint64_t bytes_of(const Arrays&... arrays) {
  return (... + (arrays.size() * sizeof(typename Arrays::value_type)));
}

/// `bytes` for people: "1.4 GiB".
std::string format_bytes(std::uint64_t bytes);

/// count * size, or 2^64-1 where that does not fit.
std::uint64_t saturating_bytes(std::uint64_t count, std::uint64_t size);

}  // namespace nz
