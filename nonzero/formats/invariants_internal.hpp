#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <nonzero/core/types.hpp>

// Invariants that several formats share. All throw `shape_error` naming the format, the array and the first
// wrong place. For `validate` only.
namespace nz::invariants {

void sizes_are_not_negative(std::string_view format, index rows, index cols);
void length_is(std::string_view format, std::string_view array, std::size_t length, offset expected);
void never_falls(std::string_view format, std::string_view array, std::span<const index> values);
/// `begin` starts at 0, never falls and ends at `total`.
void begins_cover(std::string_view format, std::string_view array, std::span<const offset> begin,
                  offset total);
void within(std::string_view format, std::string_view array, std::span<const index> values, index limit);
/// `row` holds each of 0 … rows-1 once.
void is_permutation(std::string_view format, std::string_view array, std::span<const index> row);

}  // namespace nz::invariants
