#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include <nonzero/core/scratch.hpp>
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
    explicit lease(const emulator_scratch& from) : from_(from), set_(from.sets_) {}
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    /// A kernel that fails, as only the emulator's can, leaves counters where they are.
    ~lease() {
      if (std::uncaught_exceptions() > exceptions_before_) from_.clear(*set_);
    }
    std::byte* data() const { return set_->data(); }

   private:
    const emulator_scratch& from_;
    scratch<vector<std::byte>>::lease set_;
    int exceptions_before_ = std::uncaught_exceptions();
  };

  emulator_scratch(std::shared_ptr<device> on, gpu::scratch_layout layout)
      : layout_(std::move(layout)),
        sets_([this, on = std::move(on)] { return make(on); }, gpu::sets_to_begin_with(layout_.bytes())) {}
  lease lend(stream) const { return lease(*this); }
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(sets_.count()) * layout_.bytes(); }

 private:
  vector<std::byte> make(const std::shared_ptr<device>& on) const {
    vector<std::byte> made(on, layout_.bytes());
    emulator::sanitizer::forbid(made.data(), made.size());
    for (const auto& [at, bytes] : layout_.arrays()) emulator::sanitizer::allow(made.data() + at, bytes);
    clear(made);
    return made;
  }
  void clear(vector<std::byte>& set) const noexcept {
    for (const auto& [at, bytes] : layout_.arrays()) std::memset(set.data() + at, 0, bytes);
  }

  gpu::scratch_layout layout_;
  scratch<vector<std::byte>> sets_;
};

}  // namespace nz
