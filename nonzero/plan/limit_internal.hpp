#pragma once

#include <cstddef>
#include <memory>

#include <nonzero/plan/limit.hpp>
#include <nonzero/plan/measure.hpp>

namespace nz {

/// One pass over an array in the host's memory that so many threads read again and again, in the best of a
/// few ways. The array is smaller where there is not enough memory.
read_curve::point measure_read_on_cpu(const std::shared_ptr<device>& on, std::size_t bytes, int threads,
                                      const measure_options& options);

}  // namespace nz
