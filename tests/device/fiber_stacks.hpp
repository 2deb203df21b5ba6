#pragma once
// Stacks of fibers, and their announcement to AddressSanitizer.

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace dt::test_device {

/// A fiber's stack, or the scheduler's.
struct Stack {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* of_sanitizer = nullptr;
};

/// Tells AddressSanitizer of a change of stacks. Otherwise it takes one stack's frames for the other's.
inline void leave(Stack& from, const Stack& to, bool for_ever = false) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(for_ever ? nullptr : &from.of_sanitizer, to.bottom, to.bytes);
#else
  static_cast<void>(from), static_cast<void>(to), static_cast<void>(for_ever);
#endif
}
inline void arrive(Stack& at, Stack& from) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(at.of_sanitizer, &from.bottom, &from.bytes);
#else
  static_cast<void>(at), static_cast<void>(from);
#endif
}

/// A pool of stacks that remembers the last stack that it gave.
class Stacks {
 public:
  boost::context::stack_context allocate() {
    const boost::context::stack_context given = pool_.allocate();
    last_ = {static_cast<std::byte*>(given.sp) - given.size, given.size};
    return given;
  }
  void deallocate(boost::context::stack_context& stack) { pool_.deallocate(stack); }
  const Stack& last() const { return last_; }

 private:
  static constexpr std::size_t stack_bytes = 64 << 10;
  boost::context::pooled_fixedsize_stack pool_{stack_bytes};
  Stack last_;
};
/// An allocator for fibers, which hold a copy of it.
struct StacksOf {
  Stacks* stacks;
  boost::context::stack_context allocate() { return stacks->allocate(); }
  void deallocate(boost::context::stack_context& stack) { stacks->deallocate(stack); }
};

}  // namespace dt::test_device
