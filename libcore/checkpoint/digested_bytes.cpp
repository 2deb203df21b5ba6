#include "checkpoint/digested_bytes.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"
#include "checkpoint/index_format.hpp"

namespace dt::checkpoint {

std::uint64_t DigestedBytes::bytes() const {
  std::uint64_t total = 0;
  for (const ByteRange& range : ranges) total += range.end - range.begin;
  return total;
}

DigestedBytes metadata_of(const StoredFile& file, std::span<const StoredPiece> pieces) {
  const char* what = pieces.empty() ? "its bytes" : "the bytes outside the tensors";
  return {file.name, what, metadata_ranges(file.bytes, pieces), file.metadata_digest};
}

std::vector<DigestedBytes> digested_bytes(const StoredFile& file, std::span<const StoredPiece> pieces) {
  std::vector<DigestedBytes> parts;
  for (const StoredPiece& piece : pieces) {
    const std::string where = fmt::format("{}: {} of {}", file.name, piece.kind, piece.tensor);
    std::uint64_t begin = piece.offset;
    const std::uint64_t end = begin + piece.bytes();
    for (const std::uint64_t digest : piece.digests) {
      const ByteRange block{begin, std::min<std::uint64_t>(begin + digest_block_bytes, end)};
      parts.push_back({where, fmt::format("bytes {} to {}", block.begin, block.end), {block}, digest});
      begin = block.end;
    }
  }
  parts.push_back(metadata_of(file, pieces));
  return parts;
}

std::vector<DigestedBytes> digested_bytes(const StoredFile& index,
                                          std::span<const std::uint64_t> block_digests) {
  const std::uint64_t end = index_format::body_bytes(index.bytes);
  std::vector<DigestedBytes> parts;
  for (std::uint64_t begin = 0; begin < end; begin += index_format::block_bytes) {
    const ByteRange block{begin, std::min(begin + index_format::block_bytes, end)};
    parts.push_back({index.name,
                     fmt::format("bytes {} to {}", block.begin, block.end),
                     {block},
                     block_digests[begin / index_format::block_bytes]});
  }
  parts.push_back({index.name, "the block digests", {{end, index.bytes}}, index.metadata_digest});
  return parts;
}

std::vector<std::uint64_t> load_block_digests(const fs::path& path, const StoredFile& index) {
  const std::uint64_t end = index_format::body_bytes(index.bytes);
  std::vector<std::uint64_t> digests(index_format::num_blocks(end));
  const File file = File::open_read(path);
  if (file.size() != index.bytes)
    throw input_error("{} has {} bytes, expected {}", path.string(), file.size(), index.bytes);
  file.read_at(end, std::as_writable_bytes(std::span(digests)));
  return digests;
}

std::vector<ByteRange> metadata_ranges(std::uint64_t file_bytes, std::span<const StoredPiece> pieces) {
  std::vector<ByteRange> payloads;
  for (const StoredPiece& p : pieces) payloads.push_back({p.offset, p.offset + p.bytes()});
  return metadata_ranges(file_bytes, std::move(payloads));
}

std::vector<ByteRange> metadata_ranges(std::uint64_t file_bytes, std::vector<ByteRange> payloads) {
  std::sort(payloads.begin(), payloads.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::vector<ByteRange> ranges;
  std::uint64_t position = 0;
  for (const ByteRange& payload : payloads) {
    if (payload.begin > position) ranges.push_back({position, payload.begin});
    position = std::max(position, payload.end);
  }
  if (file_bytes > position) ranges.push_back({position, file_bytes});
  return ranges;
}

std::uint64_t digest_ranges(const File& file, std::span<const ByteRange> ranges) {
  constexpr std::uint64_t part_bytes = 1 << 16;
  std::vector<std::byte> buffer(part_bytes);
  Digester digester;
  for (const ByteRange& range : ranges) {
    for (std::uint64_t begin = range.begin; begin < range.end; begin += part_bytes) {
      const auto part = std::span(buffer).first(std::min(part_bytes, range.end - begin));
      file.read_at(begin, part);
      digester.update(part);
    }
  }
  return digester.value();
}

std::string describe(const DigestedBytes& part, std::uint64_t actual) {
  return fmt::format("{} have the digest {}, expected {}", part.what, to_hex(actual), to_hex(part.digest));
}

std::string why_damaged(const File& file, const DigestedBytes& part) {
  try {
    const std::uint64_t actual = digest_ranges(file, part.ranges);
    if (actual == part.digest) return {};
    return describe(part, actual);
  } catch (const Error& error) {
    if (!error.indicates_corruption()) throw;
    return error.message();
  }
}

}  // namespace dt::checkpoint
