#include "checkpoint/elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"
#include "base/numeric/dtype.hpp"

namespace dt::checkpoint {

namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// Returns the value in the type used for computing: its own, or fp32 for 16-bit types.
template <class T>
auto widened(T value) {
  if constexpr (sizeof(T) == 2) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

/// Returns an fp32 that rounds to 16 bits as `value` itself does when rounded once. An inexact
/// value goes to the fp32 neighbour whose last bit is 1.
/// Source: Boldo & Melquiond 2008, "Emulation of FMA and correctly rounded sums", theorem 2.
float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1U);
}

template <class To, class Value>
To narrowed(Value value) {
  if constexpr (sizeof(To) == 2 && sizeof(Value) == 8) {
    return To(rounded_to_odd(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void convert(const std::byte* source, std::byte* target, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const To value = narrowed<To>(widened(load<From>(source + at * sizeof(From))));
    std::memcpy(target + at * sizeof(To), &value, sizeof(To));
  }
}

template <class From>
void convert_from(const std::byte* source, DType to, std::byte* target, std::int64_t count) {
  switch (to) {
    case DType::f64:
      return convert<From, double>(source, target, count);
    case DType::f32:
      return convert<From, float>(source, target, count);
    case DType::bf16:
      return convert<From, BFloat16>(source, target, count);
    default:
      return convert<From, Float16>(source, target, count);
  }
}

bool is_float(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

}  // namespace

bool is_convertible(DType from, DType to) {
  return from == to || (is_float(from) && is_float(to));
}

void copy_elements(DType from, const std::byte* source, DType to, std::byte* target, std::int64_t count) {
  DT_CHECK(is_convertible(from, to), "{} elements are read as {}", dtype_name(from), dtype_name(to));
  if (count == 0) return;
  if (from == to) {
    std::memcpy(target, source, static_cast<std::size_t>(count) * dtype_bytes(from));
    return;
  }
  switch (from) {
    case DType::f64:
      return convert_from<double>(source, to, target, count);
    case DType::f32:
      return convert_from<float>(source, to, target, count);
    case DType::bf16:
      return convert_from<BFloat16>(source, to, target, count);
    default:
      return convert_from<Float16>(source, to, target, count);
  }
}

void copy_ranges(std::span<const CopyRange> runs, DType dtype, std::uint64_t payload_bytes,
                 const LoadBlock& load, const ViewBlock& view, const Tensor& out) {
  const std::size_t element_bytes = dtype_bytes(dtype);
  const auto block_elements = static_cast<std::int64_t>(digest_block_bytes / element_bytes);
  const std::size_t out_bytes = dtype_bytes(out.dtype());
  std::int64_t seen = -1;
  std::span<const std::byte> bytes;  // block number `seen`
  for (const CopyRange& run : runs) {
    for (std::int64_t done = 0; done < run.count;) {
      const std::int64_t block = (run.source + done) / block_elements;
      const std::int64_t within = (run.source + done) % block_elements;
      const std::int64_t count = std::min(run.count - done, block_elements - within);
      const auto number = static_cast<std::uint64_t>(block);
      const auto size = static_cast<std::size_t>(
          std::min<std::uint64_t>(digest_block_bytes, payload_bytes - number * digest_block_bytes));
      std::byte* target = out.raw() + static_cast<std::size_t>(run.target + done) * out_bytes;
      if (block != seen && dtype == out.dtype() && static_cast<std::size_t>(count) * element_bytes == size) {
        load(number, {target, size});
      } else {
        if (block != seen) bytes = view(number, size);
        seen = block;
        copy_elements(dtype, bytes.data() + static_cast<std::size_t>(within) * element_bytes, out.dtype(),
                      target, count);
      }
      done += count;
    }
  }
}

void copy_ranges(std::span<const CopyRange> runs, DType dtype, std::uint64_t payload_bytes,
                 const LoadBlock& load, const Tensor& out, std::vector<std::byte>& buffer) {
  const auto view = [&](std::uint64_t block, std::size_t count) -> std::span<const std::byte> {
    buffer.resize(count);
    load(block, buffer);
    return buffer;
  };
  copy_ranges(runs, dtype, payload_bytes, load, view, out);
}

}  // namespace dt::checkpoint
