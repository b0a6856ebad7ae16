#include <cstddef>
#include <mutex>
#include <vector>

#include <boost/context/protected_fixedsize_stack.hpp>

#include <nonzero/gpu/emulator/sanitizer_internal.hpp>
#include <nonzero/gpu/emulator/stacks_internal.hpp>

namespace nz::emulator {
namespace {

using boost::context::stack_context;

// Room for a kernel and for the message of what it did wrong; a sanitizer's frames and reports take more.
constexpr std::size_t stack_bytes = sanitizer::is_on ? 256 * 1024 : 64 * 1024;
constexpr std::size_t most_kept = 4096;

class pool {
 public:
  pool() { free_.reserve(most_kept); }
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  ~pool() {
    for (stack_context& stack : free_) maker_.deallocate(stack);
  }

  stack_context take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        const stack_context stack = free_.back();  // the one most likely to be in cache
        free_.pop_back();
        return stack;
      }
    }
    return maker_.allocate();
  }

  void give(stack_context& stack) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (free_.size() < most_kept) {
        free_.push_back(stack);
        return;
      }
    }
    maker_.deallocate(stack);
  }

 private:
  boost::context::protected_fixedsize_stack maker_{stack_bytes};  // holds a size and nothing else
  std::mutex mutex_;
  std::vector<stack_context> free_;
};

pool& stacks() {
  static pool all;
  return all;
}

}  // namespace

stack_context take_stack() {
  const stack_context stack = stacks().take();
  sanitizer::forget_frames(static_cast<char*>(stack.sp) - stack.size, stack.size);
  return stack;
}

void give_stack(stack_context& stack) noexcept { stacks().give(stack); }

}  // namespace nz::emulator
