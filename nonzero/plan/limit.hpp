#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include <nonzero/core/device.hpp>

namespace nz {

/// How long a device takes at least to read so many bytes: an array that is read again and again, and so lies
/// in the level of the memory hierarchy that holds it. On a GPU a launch reads it. This is the limit of a
/// multiply that moves the compulsory bytes, whatever its kernel. It may be passed by a kernel for which the
/// matrix takes fewer bytes than in CSR, or whose launches overlap. Columns at random do not let a kernel
/// come near: the limit does not count gathers, as how many of them share a sector depends on the order of
/// the rows and on the kernel.
struct read_curve {
  struct point {
    std::uint64_t bytes = 0;
    double seconds = 0;
  };
  /// The bytes rise, from 0: a launch that does nothing on a GPU, no time on the CPU.
  std::vector<point> points;

  /// Interpolated between two points; past the last one, at its bandwidth.
  double seconds_for(std::uint64_t bytes) const;
};

/// Measures it, on the CPU with all threads. Takes one or two seconds, and at most an eighth of the memory.
/// `is_replayed`: a GPU replays the launches from a graph.
read_curve measure_read_curve(const std::shared_ptr<device>& on, bool is_replayed = false);

/// The one that the file has for this device, this number of threads and this version of the library; else
/// measures it and adds it to the file. A file that cannot be read or written, or holds something else, is no
/// error: it is a cache. An empty name is no file.
read_curve recall_read_curve(const std::shared_ptr<device>& on, bool is_replayed,
                             const std::filesystem::path& file);

}  // namespace nz
