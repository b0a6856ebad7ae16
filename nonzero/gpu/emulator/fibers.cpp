#include <utility>

#include <nonzero/gpu/emulator/fibers_internal.hpp>
#include <nonzero/gpu/emulator/sanitizer_internal.hpp>
#include <nonzero/gpu/emulator/stacks_internal.hpp>

namespace nz::emulator {
namespace {

// Stacks begin at the same place of a page: frames of the lanes of a warp would share the few lines of a
// cache that this place maps to. So each fiber begins its own number of lines further down.
constexpr std::size_t line_bytes = 64;
constexpr std::size_t places_aside = 64;

// What Boost.Context calls when a fiber has ended.
struct stack_giver {
  void deallocate(boost::context::stack_context& stack) noexcept { give_stack(stack); }
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
  auto stack = take_stack();
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
