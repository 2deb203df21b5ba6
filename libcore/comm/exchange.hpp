#pragma once
// Exchanges texts, numbers and errors between ranks.
// Collective: every rank of the group calls each function, and blocks; rank_label() is the exception.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/ranks.hpp"

namespace dt::comm {

/// Returns the root's text, on every rank.
std::string broadcast_text(Communicator& group, const std::string& text, int root = 0);
std::int64_t broadcast_number(Communicator& group, std::int64_t number, int root = 0);
/// Returns every rank's text, by rank.
std::vector<std::string> gather_texts(Communicator& group, const std::string& text);
/// Sums `values` over all ranks, element by element. Integers wrap.
void all_reduce_sum(Communicator& group, std::span<std::int64_t> values);

/// An error that all ranks know and throw together, so that they can end in good order, with one
/// message.
class SharedError : public Error {
 public:
  using Error::Error;
};

/// Runs `body` on this rank. If any rank's body throws, the others do not wait in vain: all ranks throw
/// the same SharedError. It is the error of the lowest rank that failed (see current_error), with its
/// rank and host unless all failed alike. In a group of one rank, throws what `body` throws. `body`
/// must not communicate.
void run_collectively(Communicator& group, const std::function<void()>& body);

/// Returns the name of this rank in messages: "rank 3 on n4", "rank 3 on n4 (stage 1 of 2: layers.1 to
/// head)".
/// Collective: no; never blocks.
std::string rank_label(Communicator& group);

/// Runs `body` on rank 0 alone. If it throws, all ranks throw.
void on_root(const Ranks& ranks, const std::function<void()>& body);

/// Runs `body` on the first `count` ranks, as a group named `name`. The others wait as long as it
/// takes. If the first ranks throw a SharedError, all ranks throw it.
void on_subset(const Ranks& ranks, int count, const std::string& name,
               const std::function<void(const Ranks&)>& body);

/// Checks that every rank can start `count` threads. Call before starting threads that end the process
/// if the system refuses one (OpenMP's). All ranks hold their threads at once, since ranks of a host
/// share its limits.
/// Errors: environment, naming the limit.
void require_threads(const Ranks& ranks, int count);

}  // namespace dt::comm
