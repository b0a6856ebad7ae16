#pragma once

#include <boost/context/stack_context.hpp>

namespace nz::emulator {

/// A stack for a fiber, with a guard page at its end. Throws std::bad_alloc.
boost::context::stack_context take_stack();

/// Keeps a stack for another fiber, of whichever OS thread.
void give_stack(boost::context::stack_context& stack) noexcept;

}  // namespace nz::emulator
