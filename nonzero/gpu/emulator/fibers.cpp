#include <utility>

#include <nonzero/gpu/emulator/fibers_internal.hpp>
#include <nonzero/gpu/emulator/sanitizer_internal.hpp>
#include <nonzero/gpu/emulator/stacks_internal.hpp>

namespace nz::emulator {
namespace {

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
  made.rest = boost::context::fiber(std::allocator_arg,
                                    boost::context::preallocated(stack.sp, stack.size, stack), stack_giver(),
                                    [this](boost::context::fiber&& from) { return begin(std::move(from)); });
  return all_.emplace_back(std::move(made));
}

void fibers::go_on(fiber& next) {
  fiber& me = *running_;
  left_ = &me;
  running_ = &next;
  void* kept = nullptr;
  sanitizer::leave_for(&kept, next.stack_bottom, next.stack_bytes);
  boost::context::fiber from = std::move(next.rest).resume();
  sanitizer::arrive(kept, &left_->stack_bottom, &left_->stack_bytes);
  left_->rest = std::move(from);
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
