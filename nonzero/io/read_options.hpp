#pragma once

#include <cstddef>
#include <functional>

namespace nz {

struct read_options {
  int threads = 0;  // 0: thread_count()
  /// Called by one thread at a time with the fraction read so far, 0 to 1. May throw to stop the reading.
  std::function<void(double)> progress = {};
  /// The size of the blocks of a Matrix Market file that threads parse. Tests make it small.
  std::size_t block_bytes = std::size_t{1} << 21;
};

}  // namespace nz
