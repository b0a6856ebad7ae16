#pragma once

#include <cstdint>
#include <functional>

namespace nz {

/// The first i in [0, count) for which holds(i), looked for in parallel; count: there is none. might_hold(i,
/// j) is quick, and true wherever holds is for one of [i, j): it decides where to look closely.
std::int64_t find_first(std::int64_t count,
                        const std::function<bool(std::int64_t begin, std::int64_t end)>& might_hold,
                        const std::function<bool(std::int64_t i)>& holds);

}  // namespace nz
