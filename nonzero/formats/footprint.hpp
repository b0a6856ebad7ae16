#pragma once

#include <cstdint>
#include <string_view>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/memory.hpp>

namespace nz {

/// The memory of a matrix in a format, known before it is converted. Saturates at 2^64-1.
struct footprint {
  std::uint64_t bytes = 0;          // all arrays together
  std::uint64_t padding_bytes = 0;  // of those, places without an entry

  friend bool operator==(const footprint&, const footprint&) = default;
};

/// The most padding of a conversion, as a multiple of the bytes of the CSR matrix. One full row must not turn
/// a sparse matrix dense.
struct padding_budget {
  double times_csr = 4.0;
};

/// Throws `unsupported`, naming the padded size, if `target` exceeds the budget. Conversions call it before
/// they allocate much.
void require_within_budget(std::string_view format, footprint target, footprint csr, padding_budget budget);

/// The bytes of some arrays.
template <class... Arrays> std::uint64_t bytes_of(const Arrays&... arrays) {
  return (... + (arrays.size() * sizeof(typename Arrays::value_type)));
}

/// count * size, or 2^64-1 where that does not fit.
std::uint64_t saturating_bytes(std::uint64_t count, std::uint64_t size);

}  // namespace nz
