#pragma once
// Sharing a kernel's work among a context's threads.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <omp.h>

#include "tensor/context.hpp"

namespace dt::kernels::cpu {

/// Below this many elements waking other threads costs more than they save.
inline constexpr std::int64_t serial_elements = 16384;

/// A team's first thread lets messages advance while all compute. What that throws is kept until they are
/// done, as no exception may leave a team.
class TeamPoll {
 public:
  explicit TeamPoll(const Context& context) : context_(context) {}

  void operator()(int thread) {
    if (thread != 0 || failure_) return;
    try {
      context_.poll();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  /// After the team.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const Context& context_;
  std::exception_ptr failure_;
};

/// Calls body(begin, end) on contiguous ranges that cover [0, count), one per thread; `elements` is what one
/// item touches. A team is the whole context or just this thread: libgomp ends and restarts threads when team
/// sizes alternate.
template <class Body>
void for_ranges(const Context& context, std::int64_t count, std::int64_t elements, const Body& body) {
  if (context.threads() == 1 || count * elements < serial_elements) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel num_threads(context.threads())
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    const std::int64_t begin = count * thread / team, end = count * (thread + 1) / team;
    if (begin < end) body(begin, end);
  }
}

/// The same for flat elements: bounds are multiples of 1,024, so that threads do not share cache lines.
template <class Body>
void for_elements(const Context& context, std::int64_t count, const Body& body) {
  constexpr std::int64_t block = 1024;
  for_ranges(context, (count + block - 1) / block, block, [&](std::int64_t begin, std::int64_t end) {
    body(begin * block, std::min(end * block, count));
  });
}

/// Calls body(job, thread) for each job in [0, count); free threads take the next, so that jobs begin in
/// order. Polls between those of the first thread.
template <class Body>
void for_jobs(const Context& context, std::int64_t count, const Body& body) {
  TeamPoll poll(context);
  const auto run = [&](std::int64_t job, int thread) {
    poll(thread);
    body(job, thread);
  };
  if (context.threads() == 1 || count == 1) {
    for (std::int64_t job = 0; job < count; ++job) run(job, 0);
    return poll.rethrow();
  }
  std::atomic<std::int64_t> next = 0;
#pragma omp parallel num_threads(context.threads())
  for (std::int64_t job; (job = next.fetch_add(1)) < count;) run(job, omp_get_thread_num());
  poll.rethrow();
}

}  // namespace dt::kernels::cpu
