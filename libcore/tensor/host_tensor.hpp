#pragma once
// Views of host numbers as tensors, and copies between device tensors and the host. Host tensors are
// read and written in place.

#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>

#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt {

/// Returns the numbers of a vector, array or span as a tensor of one dim.
template <std::ranges::contiguous_range Values>
requires std::ranges::borrowed_range<Values> Tensor host_tensor(Values&& values) {
  using Number = std::ranges::range_value_t<Values>;
  return Tensor(std::ranges::data(values), dtype_of<Number>(), Shape{std::ranges::ssize(values)},
                Device::host());
}

/// Returns one number as a tensor of one element.
template <class Number>
requires std::is_arithmetic_v<Number> Tensor host_tensor(Number& number) {
  return Tensor(&number, dtype_of<Number>(), Shape{1}, Device::host());
}

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
