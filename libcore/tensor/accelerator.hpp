#pragma once
// What drives devices that are not the host: their memory, and work that they do in the order in which they
// are given it, while the host goes on.

#include <cstddef>
#include <span>

#include "tensor/device.hpp"

namespace dt {

/// An order of work: what is enqueued on a stream begins when what was enqueued on it before has ended.
using Stream = struct StreamState*;

/// What names a stream is enqueued, and returns at once where it can. Errors: environment, naming the device
/// and what it says.
class Accelerator {
 public:
  virtual ~Accelerator() = default;
  /// Zeroed and aligned to 256 bytes, for work of any stream. Errors: also of memory that is short, naming
  /// the size.
  virtual std::byte* allocate(Device device, std::size_t bytes) = 0;
  /// Nothing that is enqueued touches it any more.
  virtual void release(Device device, std::byte* memory) = 0;
  /// Zeroes it now, beside all streams.
  virtual void clear(Device device, std::span<std::byte> memory) = 0;
  virtual Stream open_stream(Device device) = 0;
  virtual void close(Stream stream) = 0;
  /// Between the host and a device, or within one. Memory of the host stays as it is until it is done.
  virtual void copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void zero(Stream stream, std::byte* memory, std::size_t bytes) = 0;
  /// What `stream` is given from now on begins after what `other` was given until now.
  virtual void follow(Stream stream, Stream other) = 0;
  /// Until all that the stream was given is done.
  virtual void wait(Stream stream) = 0;
};

/// That of the program's devices. Errors: environment, where it has none.
Accelerator& accelerator();
/// Once, before any such device is named; nullptr: none any more.
void set_accelerator(Accelerator* accelerator);

}  // namespace dt
