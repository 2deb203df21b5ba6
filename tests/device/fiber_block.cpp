#include "device/fiber_block.hpp"

#include <algorithm>
#include <array>
#include <boost/context/fiber.hpp>
#include <exception>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "device/fiber_stacks.hpp"
#include "device/shared_memory.hpp"

namespace dt::test_device {

namespace {

namespace context = boost::context;

constexpr unsigned warp_size = 32;

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

/// Some are slow, so that others are far ahead of them wherever nothing holds these.
struct Warp {
  std::span<Thread> threads;
  unsigned slowness;  // a turn in so many is taken
};

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
  void step(const Warp& warp, std::mt19937_64& random);
  void release(const Warp& warp);
  void release_block();
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
  std::vector<Warp> warps;
  for (std::size_t i = 0; i < threads_.size(); i += warp_size) {
    const std::size_t lanes = std::min<std::size_t>(warp_size, threads_.size() - i);
    warps.push_back({std::span(threads_).subspan(i, lanes), 1U << random() % 5});
  }
  while (!std::ranges::all_of(threads_, is<State::ended>)) {
    std::shuffle(warps.begin(), warps.end(), random);
    for (const Warp& warp : warps) {
      if (random() % warp.slowness == 0) step(warp, random);
    }
    if (std::ranges::none_of(threads_, is<State::ready>)) release_block();
  }
}

void Block::step(const Warp& warp, std::mt19937_64& random) {
  std::array<std::size_t, warp_size> order;
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t lane : order) {
    if (lane < warp.threads.size() && warp.threads[lane].state == State::ready) resume(warp.threads[lane]);
  }
  release(warp);
}

/// Lets lanes go on that waited for each other.
void Block::release(const Warp& warp) {
  std::vector<Thread*> free;
  for (Thread& thread : warp.threads) {
    if (thread.state == State::at_warp && may_leave(thread)) free.push_back(&thread);
  }
  for (Thread* const thread : free) thread->state = State::ready;
}

/// Where no thread is ready, all that have not ended wait for the block's others.
void Block::release_block() {
  for (Thread& thread : threads_) {
    DT_CHECK(thread.state != State::at_warp, "{}: thread {} waits for lanes that are elsewhere",
             launch_.kernel, thread.index);
    if (thread.state == State::at_block) thread.state = State::ready;
  }
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
