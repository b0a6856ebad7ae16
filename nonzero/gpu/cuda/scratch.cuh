#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <nonzero/core/device.hpp>
#include <nonzero/gpu/scratch.cuh>

namespace nz {

/// The scratch_pool of gpu/scratch.cuh. Work outlives the call that launches it, so a set is bound to a
/// stream, where multiplies follow each other, or to a graph that is being captured in a stream.
///
/// While sets are left, each stream and each graph takes one; that costs a multiply two locks and two
/// questions about the stream. Where none is left, a stream takes the set of another stream whose work is
/// done. If there is none either, a set is made; from then on an event follows every multiply, to know when
/// that is. A graph keeps its set until it and everything instantiated from it is destroyed. Where a capture
/// finds no set left, one is made too: the memory comes from the library's own stream and belongs to no
/// graph.
///
/// Thread safety: any number of threads may lend at once, in one stream or in several. Those of one stream
/// wait for each other while they launch, so that launches of two multiplies do not mix.
class cuda_scratch {
  struct set;

 public:
  /// What a set needs besides memory, made with it; it lives as long as the set.
  using attachment = std::function<std::shared_ptr<void>(std::byte* memory)>;

  class lease {
   public:
    lease(set& lent, std::unique_lock<std::mutex> launching, stream in, bool has_event);
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease();
    std::byte* data() const;
    void* attached() const;

   private:
    set& set_;
    std::unique_lock<std::mutex> launching_;
    stream in_;
    bool has_event_;
  };

  cuda_scratch(std::shared_ptr<device> on, const gpu::scratch_layout& layout);
  cuda_scratch(std::shared_ptr<device> on, std::size_t bytes, int sets, attachment attach);
  cuda_scratch(const cuda_scratch&) = delete;
  cuda_scratch& operator=(const cuda_scratch&) = delete;
  ~cuda_scratch();

  /// The pool's device must be current.
  lease lend(stream in) const;
  std::uint64_t bytes() const;

 private:
  struct user;

  set* find_bound_to(const user& who) const;
  set& find_for(const user& who) const;
  set& make(int count) const;

  std::shared_ptr<device> on_;
  std::size_t bytes_;
  attachment attach_;
  mutable std::mutex mutex_;  // of the two below
  mutable std::vector<std::unique_ptr<set>> sets_;
  mutable bool has_events_ = false;
};

}  // namespace nz
