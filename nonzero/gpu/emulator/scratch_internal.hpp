#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include <nonzero/core/vector.hpp>
#include <nonzero/gpu/emulator/sanitizer_internal.hpp>
#include <nonzero/gpu/scratch.cuh>

namespace nz {

/// The scratch_pool of gpu/scratch.cuh. A launch of the emulator is done when it returns, so a set is lent
/// for the time of a call.
class emulator_scratch {
 public:
  class lease {
   public:
    explicit lease(const emulator_scratch& from) : from_(from), set_(from.take()) {}
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    /// A kernel that fails, as only the emulator's can, leaves counters where they are.
    ~lease() {
      if (std::uncaught_exceptions() > exceptions_before_) from_.clear(*set_);
      from_.give_back(*set_);
    }
    std::byte* data() const { return set_->data(); }

   private:
    const emulator_scratch& from_;
    vector<std::byte>* set_;
    int exceptions_before_ = std::uncaught_exceptions();
  };

  emulator_scratch(std::shared_ptr<device> on, gpu::scratch_layout layout)
      : on_(std::move(on)), layout_(std::move(layout)) {
    for (int i = gpu::sets_to_begin_with(layout_.bytes()); i > 0; --i) make();
  }
  lease lend(stream) const { return lease(*this); }
  std::uint64_t bytes() const {
    const std::lock_guard lock(mutex_);
    return sets_.size() * layout_.bytes();
  }

 private:
  vector<std::byte>* take() const {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) make();
    vector<std::byte>* const taken = free_.back();
    free_.pop_back();
    return taken;
  }
  void give_back(vector<std::byte>& set) const noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(&set);  // there is room for all sets
  }
  void make() const {
    free_.reserve(sets_.size() + 1);
    vector<std::byte>& made = sets_.emplace_back(on_, layout_.bytes());
    emulator::sanitizer::forbid(made.data(), made.size());
    for (const auto& [at, bytes] : layout_.arrays()) emulator::sanitizer::allow(made.data() + at, bytes);
    clear(made);
    free_.push_back(&made);
  }
  void clear(vector<std::byte>& set) const noexcept {
    for (const auto& [at, bytes] : layout_.arrays()) std::memset(set.data() + at, 0, bytes);
  }

  std::shared_ptr<device> on_;
  gpu::scratch_layout layout_;
  mutable std::mutex mutex_;  // of the two below
  mutable std::deque<vector<std::byte>> sets_;
  mutable std::vector<vector<std::byte>*> free_;
};

}  // namespace nz
