#include "device/fiber_block.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <cstring>
#include <exception>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <vector>

#include "base/error.hpp"

namespace dt::test_device {

namespace {

namespace context = boost::context;

constexpr unsigned warp_size = 32;
constexpr std::size_t stack_bytes = 64 << 10, page_bytes = 4096;

/// Its end is a page's end, and the next page nobody's.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes)
      : bytes_((bytes + 15) / 16 * 16), pages_((bytes_ + page_bytes - 1) / page_bytes * page_bytes) {
    void* const memory =
        ::mmap(nullptr, pages_ + page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    DT_CHECK(memory != MAP_FAILED, "no {} bytes of shared memory", bytes);
    memory_ = static_cast<std::byte*>(memory);
    ::mprotect(memory_ + pages_, page_bytes, PROT_NONE);
  }
  ~SharedMemory() { ::munmap(memory_, pages_ + page_bytes); }
  SharedMemory(const SharedMemory&) = delete;
  std::byte* begin() const { return memory_ + pages_ - bytes_; }
  void spoil() { std::memset(begin(), 0xFF, bytes_); }

 private:
  std::size_t bytes_, pages_;
  std::byte* memory_;
};

/// Of a fiber, or the scheduler's.
struct Stack {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* of_sanitizer = nullptr;
};

/// AddressSanitizer is told of every change of stacks, or it takes what one leaves behind for the other's.
void leave(Stack& from, const Stack& to, bool for_ever = false) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(for_ever ? nullptr : &from.of_sanitizer, to.bottom, to.bytes);
#else
  static_cast<void>(from), static_cast<void>(to), static_cast<void>(for_ever);
#endif
}
void arrive(Stack& at, Stack& from) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(at.of_sanitizer, &from.bottom, &from.bytes);
#else
  static_cast<void>(at), static_cast<void>(from);
#endif
}

/// Stacks that are used again, of which the last that was given is known.
class Stacks {
 public:
  context::stack_context allocate() {
    const context::stack_context given = pool_.allocate();
    last_ = {static_cast<std::byte*>(given.sp) - given.size, given.size};
    return given;
  }
  void deallocate(context::stack_context& stack) { pool_.deallocate(stack); }
  const Stack& last() const { return last_; }

 private:
  context::pooled_fixedsize_stack pool_{stack_bytes};
  Stack last_;
};
/// Fibers hold a copy of their allocator.
struct StacksOf {
  Stacks* stacks;
  context::stack_context allocate() { return stacks->allocate(); }
  void deallocate(context::stack_context& stack) { stacks->deallocate(stack); }
};

enum class State { ready, at_warp, at_block, ended };

struct Thread {
  context::fiber fiber;
  Stack stack;
  unsigned index = 0;
  State state = State::ready;
  std::uint32_t mask = 0;  // at_warp: for whom it waits
  std::uint64_t brought = 0;
};

template <State state>
bool is(const Thread& thread) {
  return thread.state == state;
}

class Block {
 public:
  Block(const Launch& launch, std::byte* shared)
      : launch_(launch), shared_(shared), threads_(launch.threads) {
    for (unsigned i = 0; i < threads_.size(); ++i) threads_[i].index = i;
  }
  Block(const Block&) = delete;

  void run(Dim3 index, std::mt19937_64& random);
  const Launch& launch() const { return launch_; }
  std::byte* shared() const { return shared_; }
  Dim3 index() const { return index_; }
  Thread& running() { return *running_; }
  const Thread& lane(unsigned lane) const { return threads_.at(first_of_warp(*running_) + lane); }
  static unsigned first_of_warp(const Thread& thread) { return thread.index / warp_size * warp_size; }

  /// Of the running thread: it goes on when it is ready again.
  void wait(State state) {
    Thread& thread = *running_;
    thread.state = state;
    leave(thread.stack, own_stack_);
    scheduler_ = std::move(scheduler_).resume();
    arrive(thread.stack, own_stack_);
  }

 private:
  void start(Thread& thread);
  void resume(Thread& thread);
  void release();
  bool release_warps();
  bool may_leave(const Thread& thread) const;

  const Launch& launch_;
  std::byte* shared_;
  Stacks stacks_;
  Stack own_stack_;
  std::vector<Thread> threads_;
  context::fiber scheduler_;
  Thread* running_ = nullptr;
  std::exception_ptr error_;
  Dim3 index_;
};

Block* current = nullptr;  // one at a time

void Block::start(Thread& thread) {
  thread.state = State::ready;
  thread.fiber =
      context::fiber(std::allocator_arg, StacksOf{&stacks_}, [this, &thread](context::fiber&& scheduler) {
        arrive(thread.stack, own_stack_);
        scheduler_ = std::move(scheduler);
        try {
          launch_.thread();
        } catch (const context::detail::forced_unwind&) {
          throw;
        } catch (...) {
          error_ = std::current_exception();
        }
        thread.state = State::ended;
        leave(thread.stack, own_stack_, true);
        return std::move(scheduler_);
      });
  thread.stack = stacks_.last();
}

void Block::resume(Thread& thread) {
  running_ = &thread;
  Stack none;
  leave(own_stack_, thread.stack);
  thread.fiber = std::move(thread.fiber).resume();
  arrive(own_stack_, none);
  if (error_) std::rethrow_exception(error_);
}

void Block::run(Dim3 index, std::mt19937_64& random) {
  index_ = index;
  for (Thread& thread : threads_) start(thread);
  std::vector<unsigned> order(threads_.size());
  std::iota(order.begin(), order.end(), 0U);
  while (!std::ranges::all_of(threads_, is<State::ended>)) {
    std::shuffle(order.begin(), order.end(), random);
    for (const unsigned i : order) {
      const bool falls_behind = random() % 4 == 0;
      if (threads_[i].state == State::ready && !falls_behind) resume(threads_[i]);
    }
    if (std::ranges::none_of(threads_, is<State::ready>)) release();
  }
}

/// Lets go on who waited for what has come about. No thread is ready.
void Block::release() {
  if (release_warps()) return;
  bool any = false;
  for (Thread& thread : threads_) {
    DT_CHECK(thread.state != State::at_warp, "{}: thread {} waits for lanes that are elsewhere",
             launch_.kernel, thread.index);
    if (thread.state != State::at_block) continue;
    thread.state = State::ready;
    any = true;
  }
  DT_CHECK(any || std::ranges::all_of(threads_, is<State::ended>), "{}: its threads wait for each other",
           launch_.kernel);
}

bool Block::release_warps() {
  std::vector<Thread*> free;
  for (Thread& thread : threads_) {
    if (thread.state == State::at_warp && may_leave(thread)) free.push_back(&thread);
  }
  for (Thread* const thread : free) thread->state = State::ready;
  return !free.empty();
}

bool Block::may_leave(const Thread& thread) const {
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((thread.mask >> lane & 1U) == 0) continue;
    const unsigned index = first_of_warp(thread) + lane;
    DT_CHECK(index < threads_.size() && threads_[index].state != State::ended,
             "{}: thread {} waits for thread {}, which has ended", launch_.kernel, thread.index, index);
    const Thread& other = threads_[index];
    if (other.state != State::at_warp || other.mask != thread.mask) return false;
  }
  return true;
}

std::vector<Dim3> shuffled_blocks(Dim3 blocks, std::mt19937_64& random) {
  std::vector<Dim3> all;
  for (unsigned z = 0; z < blocks.z; ++z) {
    for (unsigned y = 0; y < blocks.y; ++y) {
      for (unsigned x = 0; x < blocks.x; ++x) all.push_back({x, y, z});
    }
  }
  std::shuffle(all.begin(), all.end(), random);
  return all;
}

/// Also when a thread throws.
struct Current {
  explicit Current(Block& block) { current = &block; }
  ~Current() { current = nullptr; }
};

}  // namespace

void run(const Launch& launch, std::uint64_t seed) {
  DT_CHECK(launch.threads >= 1 && launch.threads <= 1024, "{}: {} threads in a block", launch.kernel,
           launch.threads);
  std::mt19937_64 random(seed);
  SharedMemory shared(launch.shared_bytes);
  Block block(launch, shared.begin());
  const Current here(block);
  for (const Dim3 index : shuffled_blocks(launch.blocks, random)) {
    shared.spoil();
    block.run(index, random);
  }
}

Dim3 thread_index() {
  return {current->running().index, 0, 0};
}
Dim3 block_index() {
  return current->index();
}
Dim3 block_size() {
  return {current->launch().threads, 1, 1};
}
Dim3 grid_size() {
  return current->launch().blocks;
}
std::byte* shared_memory() {
  return current->shared();
}
unsigned own_lane() {
  return current->running().index % warp_size;
}

void sync_threads() {
  current->wait(State::at_block);
}

/// Twice together: until all have brought theirs, and until all have taken.
std::uint64_t exchange(std::uint32_t mask, std::uint64_t value, unsigned lane) {
  Thread& own = current->running();
  DT_CHECK((mask >> own_lane() & 1U) != 0, "{}: thread {} is none of the lanes that it names",
           current->launch().kernel, own.index);
  own.mask = mask;
  own.brought = value;
  current->wait(State::at_warp);
  const std::uint64_t taken = (mask >> lane & 1U) != 0 ? current->lane(lane).brought : value;
  current->wait(State::at_warp);
  return taken;
}

}  // namespace dt::test_device
