#pragma once
// What lies on a device, where the host reads it; what the host writes, where a device computes with it.
// Tensors of the host are read and written where they are.

#include <cstddef>
#include <functional>
#include <span>

#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt {

/// Of the host's memory, where something larger passes through it.
inline constexpr std::size_t host_copy_bytes = std::size_t{64} << 20;

/// A tensor's elements for the host to read: the tensor itself, or a copy of what it holds on a device once
/// all is done that the context's stream was given. Errors: environment, of memory that is short.
class OnHost {
 public:
  OnHost(const Context& context, const Tensor& tensor);
  const Tensor& tensor() const { return tensor_; }

 private:
  Buffer memory_;
  Tensor tensor_;
};

/// The same of any size: a tensor's bytes from the first to the last, one stretch of at most `most_bytes`
/// after the other, gone with the next; of the host's, all at once.
void visit_on_host(const Context& context, const Tensor& tensor,
                   const std::function<void(std::span<const std::byte>)>& look,
                   std::size_t most_bytes = host_copy_bytes);

/// Writes a piece's elements.
using FillPiece = std::function<void(const Piece& piece, const Tensor& values)>;
/// `target` holds what `fill` writes as `piece`'s elements, on the host: into the target itself; for one on a
/// device part after part, each of at most `most_bytes`, into memory whose contents are copied there and that
/// goes with the call.
void fill_from_host(const Context& context, const Piece& piece, const Tensor& target, const FillPiece& fill,
                    std::size_t most_bytes = host_copy_bytes);

/// What a buffer of the host holds, on `device`: for the host, that buffer.
Buffer moved_to(Device device, Buffer buffer);

}  // namespace dt
