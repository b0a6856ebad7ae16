#pragma once

#include <vector>

#include <sched.h>

namespace nz::cli {

/// All processors that this process may use, also where OpenMP has bound the calling thread to one of them.
cpu_set_t own_processors();

/// While it lives, OpenMP's threads each keep to a processor of their own: where entries take turns,
/// threads that slept wake up two on one processor, and the system takes longer to sort them out than a
/// sample lasts. Does nothing where there are more threads than processors, and where OMP_PROC_BIND already
/// says how they are bound. The processes of peers are bound the same way.
class pinned_threads {
 public:
  pinned_threads();
  ~pinned_threads();
  pinned_threads(const pinned_threads&) = delete;
  pinned_threads& operator=(const pinned_threads&) = delete;

 private:
  std::vector<cpu_set_t> before_;  // of each thread; empty: nothing was done
};

}  // namespace nz::cli
