#pragma once

#include <omp.h>

/// Runs with that many threads, whatever the machine has, until it goes out of scope.
class with_threads {
 public:
  explicit with_threads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~with_threads() { omp_set_num_threads(before_); }
  with_threads(const with_threads&) = delete;
  with_threads& operator=(const with_threads&) = delete;

 private:
  int before_;
};
