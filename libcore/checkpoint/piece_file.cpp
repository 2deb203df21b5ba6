#include "checkpoint/piece_file.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/hdf5/hdf5_file.hpp"
#include "base/numeric/digest.hpp"

namespace dt::checkpoint {

namespace {

bool fills_its_box(const Piece& piece) {
  return piece.begin == 0 && piece.end == piece.box.numel();
}

/// Returns the box's shape if the piece fills it, so that other tools see a matrix, else a vector's
/// shape.
std::vector<std::uint64_t> dataset_shape(const Piece& piece) {
  if (!fills_its_box(piece)) return {static_cast<std::uint64_t>(piece.numel())};
  return {piece.box.dims().begin(), piece.box.dims().end()};
}

/// Names the datasets. A whole tensor keeps its name. Parts are numbered, so that a file may hold
/// several of one tensor.
std::vector<StoredPiece> name_datasets(const std::string& file, std::span<const PieceSpec> pieces) {
  std::vector<StoredPiece> stored;
  std::map<std::string, int> parts;
  for (const PieceSpec& p : pieces) {
    p.piece.validate();
    if (p.piece.numel() == 0) continue;
    std::string dataset = fmt::format("/{}/{}", p.kind, p.tensor);
    if (!p.piece.is_whole()) dataset += fmt::format("@{}", parts[dataset]++);
    stored.push_back({p.tensor, p.kind, p.dtype, p.piece, file, std::move(dataset), {}, 0});
  }
  return stored;
}

void declare(Hdf5Writer& file, const Manifest& manifest, std::vector<StoredPiece>& stored) {
  file.set_attribute("/", "format", std::string("dt-checkpoint-pieces"));
  file.set_attribute("/", "version", format_version);
  file.set_attribute("/", "step", manifest.state.step);
  file.set_attribute("/", "generation", manifest.generation);
  for (const StoredPiece& p : stored) file.declare(p.dataset, p.dtype, dataset_shape(p.piece));
  file.end_declarations();
  for (StoredPiece& p : stored) p.offset = file.info(p.dataset).offset;
}

/// Digests and writes a block in parts small enough to stay in a core's cache between the two.
/// Returns the digest.
std::uint64_t write_block(Hdf5Writer& file, const std::string& dataset, std::uint64_t offset,
                          std::span<const std::byte> block) {
  constexpr std::size_t part_bytes = std::size_t{256} << 10;
  Digester digester;
  for (std::size_t begin = 0; begin < block.size(); begin += part_bytes) {
    const auto part = block.subspan(begin, std::min(part_bytes, block.size() - begin));
    digester.update(part);
    file.write(dataset, offset + begin, part);
  }
  return digester.value();
}

void write_payload(Hdf5Writer& file, StoredPiece& stored, std::size_t index, const PayloadSource& source,
                   const std::function<void(std::uint64_t)>& written) {
  for (std::uint64_t begin = 0; begin < stored.bytes(); begin += digest_block_bytes) {
    const auto count = std::min<std::uint64_t>(digest_block_bytes, stored.bytes() - begin);
    stored.digests.push_back(write_block(file, stored.dataset, begin, source(index, begin, count)));
    if (written) written(count);
  }
}

}  // namespace

PieceFile write_piece_file(const fs::path& folder, const std::string& name, const Manifest& manifest,
                           std::span<const PieceSpec> pieces, const PayloadSource& source,
                           const std::function<void(std::uint64_t)>& written) {
  const fs::path path = folder / name;
  PieceFile result{{name, 0, 0}, name_datasets(name, pieces)};
  Hdf5Writer writer(path, result.pieces.size());
  declare(writer, manifest, result.pieces);
  std::size_t next = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].piece.numel() > 0) write_payload(writer, result.pieces[next++], i, source, written);
  }
  writer.close();
  const File file = File::open_read(path);
  result.file.bytes = file.size();
  result.file.metadata_digest = digest_ranges(file, metadata_ranges(result.file.bytes, result.pieces));
  return result;
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

}  // namespace dt::checkpoint
