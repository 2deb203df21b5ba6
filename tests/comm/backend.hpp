#pragma once
// The conformance tests' parameter: a backend that runs a body on ranks. One program runs bodies on
// threads, another inside MPI.

#include <functional>
#include <stdexcept>
#include <string>

#include "comm/communicator.hpp"

namespace dt::comm::test {

/// Returns the host that a rank reports as its own. It decides how large operations go: through a window
/// that ranks of one host share, else by messages.
using HostOf = std::function<std::string(int rank)>;
inline std::string same_host(int) {
  return "n1";
}
inline std::string own_host(int rank) {
  return "n" + std::to_string(rank);
}

/// Runs `body` on every rank of a fresh group of all ranks (threads: groups of several sizes, one after the
/// other). Catch2's assertions are not thread-safe, so bodies use require.
void on_ranks_of(const HostOf& host_of, const std::function<void(Communicator&)>& body);
/// Runs `body` with all ranks on one host, and then with each on its own.
inline void on_ranks(const std::function<void(Communicator&)>& body) {
  on_ranks_of(same_host, body);
  on_ranks_of(own_host, body);
}

inline void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

/// Returns the error that `body` throws.
template <class Body>
Error error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  throw std::runtime_error("no error was thrown");
}

}  // namespace dt::comm::test
