#include "checkpoint/elements.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/numeric/convert_elements.hpp"
#include "base/numeric/digest.hpp"
#include "base/numeric/visit_dtype.hpp"

namespace dt::checkpoint {

bool is_convertible(DType from, DType to) {
  return from == to || (is_float(from) && is_float(to));
}

void copy_elements(DType from, const std::byte* source, DType to, std::byte* target, std::int64_t count) {
  DT_CHECK(is_convertible(from, to), "{} elements cannot be converted to {}", dtype_name(from),
           dtype_name(to));
  if (count == 0) return;
  if (from == to) {
    std::memcpy(target, source, storage_bytes(from, count));
    return;
  }
  visit_dtype(FloatTypes(), from, "conversion", [&](auto from_element) {
    visit_dtype(FloatTypes(), to, "conversion", [&](auto to_element) {
      convert_elements<decltype(from_element), decltype(to_element)>(source, target, count);
    });
  });
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
