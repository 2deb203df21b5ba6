#pragma once
// The division of a kernel's work among a context's threads.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <omp.h>

#include "base/numeric/integer.hpp"
#include "tensor/context.hpp"

namespace dt::kernels::cpu {

/// The number of elements below which waking other threads costs more than they save.
inline constexpr std::int64_t serial_elements = 16384;

/// Polls the context on a team's first thread, so that messages advance during computation. An
/// exception is kept until the team is done, since none may leave a team.
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
  /// Rethrows the exception. Call it after the team.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const Context& context_;
  std::exception_ptr failure_;
};

/// Calls body(begin, end) on contiguous ranges that cover [0, count), one for each thread.
/// `elements` is the number of elements that one item touches. A team is the whole context or only
/// this thread, since libgomp ends and restarts threads when team sizes alternate.
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

/// Does the same for flat elements. Bounds are multiples of 1,024, so that threads do not share
/// cache lines.
template <class Body>
void for_elements(const Context& context, std::int64_t count, const Body& body) {
  constexpr std::int64_t block = 1024;
  for_ranges(context, ceil_div(count, block), block, [&](std::int64_t begin, std::int64_t end) {
    body(begin * block, std::min(end * block, count));
  });
}

/// Calls body(job, thread) for each job in [0, count). Free threads take the next job, so that jobs
/// start in order. Polls between the jobs of the first thread.
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
