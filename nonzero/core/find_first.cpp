#include <algorithm>
#include <atomic>

#include <nonzero/core/find_first.hpp>
#include <nonzero/core/threads.hpp>

namespace nz {

std::int64_t find_first(std::int64_t count,
                        const std::function<bool(std::int64_t begin, std::int64_t end)>& might_hold,
                        const std::function<bool(std::int64_t i)>& holds) {
  constexpr std::int64_t grain = 1 << 16, step = 4096;  // a step's numbers are in L1 for the second look
  std::atomic<std::int64_t> first = count;
  const auto look = [&](std::int64_t from, std::int64_t to) {
    for (; from < to && from < first; from += step) {
      const std::int64_t end = std::min(from + step, to);
      if (!might_hold(from, end)) continue;
      for (std::int64_t i = from; i < end; ++i) {
        if (!holds(i)) continue;
        for (std::int64_t seen = first; i < seen && !first.compare_exchange_weak(seen, i);) {
        }
        return;
      }
    }
  };
  if (count > grain)
    parallel_ranges(count, grain, 0, look);
  else
    look(0, count);  // starting threads would take longer
  return first;
}

}  // namespace nz
