#include "device/fiber_block.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/context/fiber.hpp>
#include <exception>
#include <limits>
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

/// A generator that is quick to seed, as each launch has one. Its low bits are poor.
class Random {
 public:
  using result_type = std::uint64_t;
  explicit Random(std::uint64_t seed) : engine_(seed) { engine_.discard(2); }
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<std::uint32_t>::max(); }
  result_type operator()() { return engine_() >> 32; }
  std::size_t below(std::size_t end) { return (*this)() * end >> 32; }

 private:
  std::linear_congruential_engine<std::uint64_t, 6364136223846793005, 1442695040888963407, 0> engine_;
};

enum class State { ready, at_warp, at_block, ended };

struct Thread {
  context::fiber fiber;
  Stack stack;
  unsigned index = 0;
  State state = State::ready;
  std::uint32_t mask = 0;  // at_warp: the lanes for which it waits
  std::uint64_t brought = 0;
};

template <State state>
bool is(const Thread& thread) {
  return thread.state == state;
}

/// A warp of a random speed. Slow warps let others run far ahead of them wherever nothing synchronises
/// them.
struct Warp {
  std::span<Thread> threads;
  unsigned slowness;  // it takes one turn in this many
};

template <class Which>
std::uint32_t lanes_that(const Warp& warp, const Which& which) {
  std::uint32_t lanes = 0;
  for (std::size_t lane = 0; lane < warp.threads.size(); ++lane)
    lanes |= which(warp.threads[lane]) ? std::uint32_t{1} << lane : 0;
  return lanes;
}

class Block {
 public:
  Block(const Launch& launch, std::byte* shared)
      : launch_(launch), shared_(shared), threads_(launch.threads) {
    for (unsigned i = 0; i < threads_.size(); ++i) threads_[i].index = i;
  }
  Block(const Block&) = delete;

  void run(Dim3 index, Random& random);
  const Launch& launch() const { return launch_; }
  std::byte* shared() const { return shared_; }
  Dim3 index() const { return index_; }
  Thread& running() { return *running_; }
  const Thread& lane(unsigned lane) const { return threads_.at(first_of_warp(*running_) + lane); }
  static unsigned first_of_warp(const Thread& thread) { return thread.index / warp_size * warp_size; }

  /// Suspends the running thread until it is ready again.
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
  void step(const Warp& warp, Random& random);
  void release(const Warp& warp);
  void release_block();
  void check_waits(const Warp& warp, const Thread& thread, std::uint32_t missing) const;

  const Launch& launch_;
  std::byte* shared_;
  Stack own_stack_;
  std::vector<Thread> threads_;
  context::fiber scheduler_;
  Thread* running_ = nullptr;
  std::exception_ptr error_;
  Dim3 index_;
};

Block* current = nullptr;  // one at a time
Stacks stacks;  // all launches share them: fresh memory for each would take longer than most kernels

void Block::start(Thread& thread) {
  thread.state = State::ready;
  thread.fiber =
      context::fiber(std::allocator_arg, StacksOf{&stacks}, [this, &thread](context::fiber&& scheduler) {
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
  thread.stack = stacks.last();
}

void Block::resume(Thread& thread) {
  running_ = &thread;
  Stack none;
  leave(own_stack_, thread.stack);
  thread.fiber = std::move(thread.fiber).resume();
  arrive(own_stack_, none);
  if (error_) std::rethrow_exception(error_);
}

void Block::run(Dim3 index, Random& random) {
  index_ = index;
  for (Thread& thread : threads_) start(thread);
  std::vector<Warp> warps;
  for (std::size_t i = 0; i < threads_.size(); i += warp_size) {
    const std::size_t lanes = std::min<std::size_t>(warp_size, threads_.size() - i);
    warps.push_back({std::span(threads_).subspan(i, lanes), 1U << random.below(5)});
  }
  while (!warps.empty()) {
    std::shuffle(warps.begin(), warps.end(), random);
    bool any_is_ready = false;
    for (const Warp& warp : warps) {
      if (random.below(warp.slowness) == 0) step(warp, random);
      any_is_ready = any_is_ready || lanes_that(warp, is<State::ready>) != 0;
    }
    if (!any_is_ready) release_block();
    std::erase_if(warps,
                  [](const Warp& warp) { return std::ranges::all_of(warp.threads, is<State::ended>); });
  }
}

void Block::step(const Warp& warp, Random& random) {
  std::array<Thread*, warp_size> ready;
  std::size_t count = 0;
  for (Thread& thread : warp.threads) {
    if (thread.state == State::ready) ready[count++] = &thread;
  }
  if (count == 0) return;
  for (std::size_t left = count; left > 0; --left) {
    std::swap(ready[random.below(left)], ready[left - 1]);
    resume(*ready[left - 1]);
  }
  release(warp);
}

/// Resumes lanes that waited for each other.
void Block::release(const Warp& warp) {
  std::uint32_t left = lanes_that(warp, [](const Thread& t) { return t.state == State::at_warp; });
  while (left != 0) {
    const Thread& first = warp.threads[static_cast<std::size_t>(std::countr_zero(left))];
    const std::uint32_t mask = first.mask,
                        waiting = left & lanes_that(warp, [&](const Thread&t) { return t.mask == mask; });
    left &= ~waiting;
    if (waiting != mask) check_waits(warp, first, mask & ~waiting);
    for (std::uint32_t free = waiting == mask ? mask : 0; free != 0; free &= free - 1)
      warp.threads[static_cast<std::size_t>(std::countr_zero(free))].state = State::ready;
  }
}

/// Releases the block's barrier. If no thread is ready, all that have not ended wait for the block's
/// others.
void Block::release_block() {
  for (Thread& thread : threads_) {
    DT_CHECK(thread.state != State::at_warp, "{}: thread {} waits for lanes that are elsewhere",
             launch_.kernel, thread.index);
    if (thread.state == State::at_block) thread.state = State::ready;
  }
}

/// Checks that the missing lanes can still come.
void Block::check_waits(const Warp& warp, const Thread& thread, std::uint32_t missing) const {
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    const bool comes = lane < warp.threads.size() && warp.threads[lane].state != State::ended;
    DT_CHECK((missing >> lane & 1U) == 0 || comes, "{}: thread {} waits for thread {}, which has ended",
             launch_.kernel, thread.index, first_of_warp(thread) + lane);
  }
}

std::vector<Dim3> shuffled_blocks(Dim3 blocks, Random& random) {
  std::vector<Dim3> all;
  for (unsigned z = 0; z < blocks.z; ++z) {
    for (unsigned y = 0; y < blocks.y; ++y) {
      for (unsigned x = 0; x < blocks.x; ++x) all.push_back({x, y, z});
    }
  }
  std::shuffle(all.begin(), all.end(), random);
  return all;
}

/// Sets the current block, and clears it even if a thread throws.
struct Current {
  explicit Current(Block& block) { current = &block; }
  ~Current() { current = nullptr; }
};

}  // namespace

void run(const Launch& launch, std::uint64_t seed) {
  DT_CHECK(launch.threads >= 1 && launch.threads <= 1024, "{}: {} threads in a block", launch.kernel,
           launch.threads);
  Random random(seed);
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

/// Synchronises twice: until all lanes have brought their values, and until all have taken one.
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
