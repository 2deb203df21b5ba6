#pragma once
// The conformance tests' parameter: what runs a body on ranks. One program runs them on threads, another
// inside MPI.

#include <functional>
#include <stdexcept>
#include <string>

#include "comm/communicator.hpp"

namespace dt::comm::test {

/// Runs `body` on every rank of fresh groups of everyone (threads: of several sizes, one after the other).
/// Assertions of Catch2 are not for threads: bodies use require.
void on_ranks(const std::function<void(Communicator&)>& body);

inline void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

/// The error that `body` throws.
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
