#pragma once

#include <cstdint>
#include <type_traits>

#include <nonzero/core/values.hpp>

namespace nz {

/// A row or column number, or a number of rows or columns. 32 bits: columns are much of a matrix's memory.
using index = std::int32_t;

/// A position among the entries, or a number of entries. 64 bits: a matrix may have more than 2^31 of them.
using offset = std::int64_t;

/// The bits of a value, as a number.
template <class V> using bits_of = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;

}  // namespace nz
