#pragma once

#include <cstdint>

namespace nz {

/// A row or column number, and a count of rows or columns. 32 bits: columns are most of a matrix's bytes.
using index = std::int32_t;

/// A position among the entries, and a count of entries. 64 bits: a matrix may hold more than 2^31 of them.
using offset = std::int64_t;

}  // namespace nz
