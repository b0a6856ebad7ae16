#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include <boost/context/protected_fixedsize_stack.hpp>
#include <boost/context/stack_context.hpp>

#include <nonzero/gpu/emulator/fibers_internal.hpp>
#include <nonzero/gpu/emulator/sanitizer_internal.hpp>

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
    // Now, not when it is taken again: other memory may be mapped here after deallocate().
    sanitizer::forget_frames(static_cast<char*>(stack.sp) - stack.size, stack.size);
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

// All stacks begin at the same offset in a page, so the frames of a warp's lanes would compete for the few
// cache lines that this offset maps to. Each fiber therefore begins a different number of lines further down.
constexpr std::size_t line_bytes = 64;
constexpr std::size_t places_aside = 64;

// What Boost.Context calls when a fiber has ended.
struct stack_giver {
  void deallocate(stack_context& stack) noexcept { stacks().give(stack); }
};

}  // namespace

fibers::~fibers() {
  is_ending_ = true;
  for (fiber& each : all_) go_on(each);
}

fibers::fiber& fibers::take_idle() {
  if (!idle_.empty()) {
    fiber& found = *idle_.back();
    idle_.pop_back();
    return found;
  }
  if (idle_.capacity() <= all_.size()) idle_.reserve(2 * all_.size() + 32);
  fiber made;
  auto stack = stacks().take();
  made.stack_bottom = static_cast<char*>(stack.sp) - stack.size;
  made.stack_bytes = stack.size;
  const std::size_t aside = all_.size() % places_aside * line_bytes;
  made.rest = boost::context::fiber(
      std::allocator_arg,
      boost::context::preallocated(static_cast<char*>(stack.sp) - aside, stack.size - aside, stack),
      stack_giver(), [this](boost::context::fiber&& from) { return begin(std::move(from)); });
  return all_.emplace_back(std::move(made));
}

boost::context::fiber fibers::begin(boost::context::fiber&& from) {
  sanitizer::arrive(nullptr, &left_->stack_bottom, &left_->stack_bytes);
  left_->rest = std::move(from);
  body_();
  left_ = running_;
  running_ = &own_;
  sanitizer::leave_for(nullptr, own_.stack_bottom, own_.stack_bytes);
  return std::move(own_.rest);
}

}  // namespace nz::emulator
