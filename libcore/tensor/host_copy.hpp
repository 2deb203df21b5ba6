#pragma once
// Copies what lies on a device to where the host reads it, and what the host writes to where a device
// computes with it. Tensors of the host are read and written where they are.

#include <cstddef>
#include <functional>
#include <span>

#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt {

/// The most host memory that a larger copy passes through at a time.
inline constexpr std::size_t host_copy_bytes = std::size_t{64} << 20;

/// A tensor's elements for the host to read: the tensor itself, or a copy of what it holds on a device.
/// The copy is made once all that the context's stream was given is done.
/// Errors: environment, memory is short.
class OnHost {
 public:
  OnHost(const Context& context, const Tensor& tensor);
  const Tensor& tensor() const { return tensor_; }

 private:
  Buffer memory_;
  Tensor tensor_;
};

/// Shows `look` a tensor's bytes, whatever their size, from the first to the last. Shows one stretch of
/// at most `most_bytes` after the other; a stretch is gone with the next. Shows a tensor of the host
/// all at once.
void visit_on_host(const Context& context, const Tensor& tensor,
                   const std::function<void(std::span<const std::byte>)>& look,
                   std::size_t most_bytes = host_copy_bytes);

/// A function that writes a piece's elements.
using FillPiece = std::function<void(const Piece& piece, const Tensor& values)>;
/// Makes `target` hold what `fill` writes, on the host, as the elements of `piece`. For a target on the
/// host, `fill` writes into it. For a target on a device, `fill` writes part after part, each of at
/// most `most_bytes`, into memory that is copied there and that goes with the call.
void fill_from_host(const Context& context, const Piece& piece, const Tensor& target, const FillPiece& fill,
                    std::size_t most_bytes = host_copy_bytes);

/// Returns a buffer on `device` with the contents of a buffer of the host; for the host, that buffer.
Buffer moved_to(Device device, Buffer buffer);

}  // namespace dt
