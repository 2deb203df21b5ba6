#pragma once
// Byte streams in both directions.

#include <cstddef>
#include <span>

#include "base/error.hpp"

namespace dt {

/// The error of a failed connection: the other end cannot be reached, has gone, is silent, or is
/// not the expected program. Another attempt may succeed.
class ConnectionError : public Error {
 public:
  using Error::Error;
};

/// A connection: the other end reads what this end writes, and vice versa. Each call blocks until
/// all bytes have passed.
/// Errors: ConnectionError, and those that an implementation adds.
class Duplex {
 public:
  virtual ~Duplex() = default;
  /// Writes `bytes`, then `tail`, as one sequence.
  virtual void write(std::span<const std::byte> bytes, std::span<const std::byte> tail = {}) = 0;
  /// Fills `bytes`, then `tail`.
  virtual void read(std::span<std::byte> bytes, std::span<std::byte> tail = {}) = 0;

 protected:
  Duplex() = default;
  Duplex(const Duplex&) = default;
  Duplex(Duplex&&) = default;
  Duplex& operator=(const Duplex&) = default;
  Duplex& operator=(Duplex&&) = default;
};

}  // namespace dt
