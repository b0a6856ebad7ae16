#include "pinning.hpp"

#include <cstdlib>

#include <omp.h>

namespace nz::cli {
namespace {

std::vector<int> numbers_in(const cpu_set_t& processors) {
  std::vector<int> out;
  for (int p = 0; p < CPU_SETSIZE; ++p)
    if (CPU_ISSET(p, &processors)) out.push_back(p);
  return out;
}

}  // namespace

cpu_set_t own_processors() {
  cpu_set_t out;
  CPU_ZERO(&out);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> numbers(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, numbers.data());
    for (const int p : numbers) CPU_SET(p, &out);
  }
  if (CPU_COUNT(&out) == 0) sched_getaffinity(0, sizeof out, &out);
  return out;
}

pinned_threads::pinned_threads() {
  const std::vector<int> processors = numbers_in(own_processors());
  const auto threads = static_cast<std::size_t>(omp_get_max_threads());
  if (threads > processors.size() || omp_get_proc_bind() != omp_proc_bind_false) return;
  before_.resize(threads);
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    const auto t = static_cast<std::size_t>(omp_get_thread_num());
    sched_getaffinity(0, sizeof before_[t], &before_[t]);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[t], &one);
    sched_setaffinity(0, sizeof one, &one);
  }
}

pinned_threads::~pinned_threads() {
  if (before_.empty()) return;
#pragma omp parallel num_threads(static_cast <int>(before_.size()))
  {
    const auto t = static_cast<std::size_t>(omp_get_thread_num());
    sched_setaffinity(0, sizeof before_[t], &before_[t]);
  }
}

}  // namespace nz::cli
