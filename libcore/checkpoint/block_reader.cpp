#include "checkpoint/block_reader.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "checkpoint/elements.hpp"

namespace dt::checkpoint {

void copy_runs(std::span<const CopyRun> runs, DType dtype, std::uint64_t payload_bytes, const LoadBlock& load,
               const Tensor& out, std::vector<std::byte>& buffer) {
  const std::size_t element_bytes = dtype_bytes(dtype);
  const auto block_elements = static_cast<std::int64_t>(digest_block_bytes / element_bytes);
  const std::size_t out_bytes = dtype_bytes(out.dtype());
  std::int64_t loaded = -1;
  for (const CopyRun& run : runs) {
    for (std::int64_t done = 0; done < run.count;) {
      const std::int64_t block = (run.source + done) / block_elements;
      const std::int64_t within = (run.source + done) % block_elements;
      const std::uint64_t begin = static_cast<std::uint64_t>(block) * digest_block_bytes;
      const std::size_t bytes = std::min<std::uint64_t>(digest_block_bytes, payload_bytes - begin);
      const std::int64_t count = std::min(run.count - done, block_elements - within);
      std::byte* target = out.raw() + static_cast<std::size_t>(run.target + done) * out_bytes;
      if (dtype == out.dtype() && static_cast<std::size_t>(count) * element_bytes == bytes) {
        load(static_cast<std::uint64_t>(block), {target, bytes});  // a whole block goes to its place
        done += count;
        continue;
      }
      if (block != loaded) {
        buffer.resize(bytes);
        load(static_cast<std::uint64_t>(block), buffer);
        loaded = block;
      }
      copy_elements(dtype, buffer.data() + static_cast<std::size_t>(within) * element_bytes, out.dtype(),
                    target, count);
      done += count;
    }
  }
}

}  // namespace dt::checkpoint
