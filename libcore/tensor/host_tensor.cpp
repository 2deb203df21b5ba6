#include "tensor/host_tensor.hpp"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// Waits for earlier work, then copies. A copy of memory that is not pinned may itself block,
/// without a time limit.
void copy_and_wait(const Context& context, const Tensor& from, const Tensor& to) {
  context.synchronize();
  accelerator().copy(context.stream(), to.raw(), from.raw(), from.bytes());
  context.synchronize();
}

/// Calls body(chunk of the tensor, as much host memory, index of the chunk's first element) for each
/// chunk in turn.
template <class Body>
void for_each_chunk(const Tensor& tensor, std::size_t most_bytes, const Body& body) {
  const std::size_t element_bytes = dtype_bytes(tensor.dtype());
  const auto most = static_cast<std::int64_t>(std::max<std::size_t>(most_bytes / element_bytes, 1));
  const std::int64_t numel = tensor.numel();
  const Buffer memory(Device::host(), static_cast<std::size_t>(std::min(most, numel)) * element_bytes);
  for (std::int64_t begin = 0; begin < numel; begin += most) {
    const std::int64_t count = std::min(most, numel - begin);
    body(tensor.flat(begin, count), Tensor(memory, tensor.dtype(), Shape{count}), begin);
  }
}

}  // namespace

HostMirror::HostMirror(const Context& context, const Tensor& tensor) : tensor_(tensor) {
  if (!tensor || tensor.device() == Device::host()) return;
  memory_ = Buffer(Device::host(), tensor.bytes());
  tensor_ = Tensor(memory_, tensor.dtype(), tensor.shape());
  copy_and_wait(context, tensor, tensor_);
}

void for_each_host_chunk(const Context& context, const Tensor& tensor,
                         const std::function<void(std::span<const std::byte>)>& look,
                         std::size_t most_bytes) {
  if (tensor.device() == Device::host()) return look(tensor.span_bytes());
  for_each_chunk(tensor, most_bytes, [&](const Tensor& chunk, const Tensor& here, std::int64_t) {
    copy_and_wait(context, chunk, here);
    look(here.span_bytes());
  });
}

void fill_from_host(const Context& context, const Piece& piece, const Tensor& target, const FillPiece& fill,
                    std::size_t most_bytes) {
  DT_CHECK(piece.numel() == target.numel(), "{} elements for a piece of {}", target.numel(), piece.numel());
  if (target.device() == Device::host()) return fill(piece, target);
  for_each_chunk(target, most_bytes, [&](const Tensor& chunk, const Tensor& here, std::int64_t begin) {
    Piece some = piece;
    some.begin = piece.begin + begin;
    some.end = some.begin + chunk.numel();
    fill(some, here);
    copy_and_wait(context, here, chunk);
  });
}

Buffer to_device(Device device, Buffer buffer) {
  if (device == Device::host()) return buffer;
  Buffer there(device, buffer.bytes());
  const ScopedStream stream(device, "copying from the host");
  accelerator().copy(stream, there.data(), buffer.data(), buffer.bytes());
  accelerator().synchronize(stream);
  return there;
}

}  // namespace dt
