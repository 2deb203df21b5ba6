#pragma once
// What ranks tell each other in words: texts, numbers, and whether all is well. All functions are called by
// every rank of the group together, and block.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/ranks.hpp"

namespace dt::comm {

/// The root's text, on every rank.
std::string broadcast_text(Communicator& group, const std::string& text, int root = 0);
std::int64_t broadcast_number(Communicator& group, std::int64_t number, int root = 0);
/// Every rank's text, by rank.
std::vector<std::string> gather_texts(Communicator& group, const std::string& text);
/// values of all ranks, summed element by element (integers wrap).
void all_sum(Communicator& group, std::span<std::int64_t> values);

/// An error that all ranks know of and throw together, so that they can end in good order, with one message.
class SharedError : public Error {
 public:
  using Error::Error;
};

/// Runs `body` on this rank, which must not communicate: where it throws, the others do not wait in it. Where
/// any rank's throws, all ranks throw the same SharedError: that of the lowest rank that failed (see
/// current_error), with its rank and host where not all failed alike. A rank that is alone throws what body
/// throws.
void together(Communicator& group, const std::function<void()>& body);

/// This rank in messages: "rank 3 on n4", "rank 3 on n4 (stage 1 of 2: layers.1 to head)". Of this rank
/// alone.
std::string speaker(Communicator& group);

/// Runs `body` on rank 0 alone; where it throws, all ranks do.
void at_first(const Ranks& ranks, const std::function<void()>& body);

/// Runs `body` on the first `count` ranks, as a group of their own of that name, while the others wait as
/// long as it takes. A SharedError that they throw, all throw.
void on_first(const Ranks& ranks, int count, const std::string& name,
              const std::function<void(const Ranks&)>& body);

/// Called by all ranks together before they start threads that end the process where the system refuses one
/// (OpenMP's): each starts `count`, and all hold theirs at once, since ranks of a host share its limits.
/// Errors: environment, naming the limit.
void require_threads(const Ranks& ranks, int count);

/// How many ranks of the group are on this rank's host.
int ranks_on_host(Communicator& group);

}  // namespace dt::comm
