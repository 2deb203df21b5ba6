#pragma once
// Copies device tensors to the host for reading, and values that the host writes to devices. Host
// tensors are read and written in place.

#include <cstddef>
#include <functional>
#include <span>

#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt {

/// The most host memory that a copy uses at a time. Larger tensors are copied in parts.
inline constexpr std::size_t host_copy_bytes = std::size_t{64} << 20;

/// A tensor's elements for the host to read: the tensor itself, or a host copy of a device tensor.
/// The copy waits for all work enqueued on the context's stream.
/// Errors: environment, memory is short.
class HostMirror {
 public:
  HostMirror(const Context& context, const Tensor& tensor);
  const Tensor& tensor() const { return tensor_; }

 private:
  Buffer memory_;
  Tensor tensor_;
};

/// Calls `look` with a device tensor's bytes, in order, in stretches of at most `most_bytes`. A
/// stretch is valid only until the next call. For a host tensor, calls `look` once with all bytes.
void for_each_host_chunk(const Context& context, const Tensor& tensor,
                         const std::function<void(std::span<const std::byte>)>& look,
                         std::size_t most_bytes = host_copy_bytes);

/// A function that writes a piece's elements.
using FillPiece = std::function<void(const Piece& piece, const Tensor& values)>;
/// Fills `target` with the elements of `piece`, which `fill` writes on the host. For a target on
/// the host, `fill` writes into the target. For a target on a device, `fill` writes parts of at
/// most `most_bytes` into temporary host memory, which is then copied to the device.
void fill_from_host(const Context& context, const Piece& piece, const Tensor& target, const FillPiece& fill,
                    std::size_t most_bytes = host_copy_bytes);

/// Returns a buffer on `device` with the contents of a host buffer. If `device` is the host,
/// returns the given buffer.
Buffer to_device(Device device, Buffer buffer);

}  // namespace dt
