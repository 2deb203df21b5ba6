#include "checkpoint/piece_file.hpp"

#include <algorithm>
#include <map>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/hdf5_file.hpp"

namespace dt::checkpoint {

namespace {

bool fills_its_box(const Piece& piece) {
  return piece.begin == 0 && piece.end == piece.box.numel();
}

/// Of the box where all of it is there, so that other tools see a matrix; else of a vector.
std::vector<std::uint64_t> dataset_shape(const Piece& piece) {
  if (!fills_its_box(piece)) return {static_cast<std::uint64_t>(piece.numel())};
  return {piece.box.dims().begin(), piece.box.dims().end()};
}

/// A whole tensor has its own name; parts are numbered, so that a file may hold several of one tensor.
std::vector<StoredPiece> name_datasets(const std::string& file, std::span<const SourcePiece> pieces) {
  std::vector<StoredPiece> stored;
  std::map<std::string, int> parts;
  for (const SourcePiece& p : pieces) {
    p.piece.validate();
    DT_CHECK(p.data.numel() == p.piece.numel() && p.data.device() == Device{},
             "{} {}: {} elements on {} for a piece of {}", p.kind, p.tensor, p.data.numel(),
             p.data.device().to_string(), p.piece.numel());
    if (p.piece.numel() == 0) continue;
    std::string dataset = fmt::format("/{}/{}", p.kind, p.tensor);
    if (!p.piece.is_whole()) dataset += fmt::format("@{}", parts[dataset]++);
    stored.push_back({p.tensor, p.kind, p.data.dtype(), p.piece, file, std::move(dataset), {}, 0});
  }
  return stored;
}

void declare(Hdf5Writer& file, const Manifest& manifest, std::vector<StoredPiece>& stored) {
  file.attribute("/", "format", std::string("dt-checkpoint-pieces"));
  file.attribute("/", "version", format_version);
  file.attribute("/", "step", manifest.state.step);
  file.attribute("/", "generation", manifest.generation);
  for (const StoredPiece& p : stored) file.declare(p.dataset, p.dtype, dataset_shape(p.piece));
  file.layout();
  for (StoredPiece& p : stored) p.offset = file.info(p.dataset).offset;
}

void write_payload(Hdf5Writer& file, StoredPiece& stored, std::span<const std::byte> bytes,
                   const std::function<void(std::uint64_t)>& written) {
  for (std::size_t begin = 0; begin < bytes.size(); begin += digest_block_bytes) {
    const auto block = bytes.subspan(begin, std::min(digest_block_bytes, bytes.size() - begin));
    stored.digests.push_back(digest(block));
    file.write(stored.dataset, begin, block);
    if (written) written(block.size());
  }
}

}  // namespace

PieceFile write_piece_file(const fs::path& folder, const std::string& name, const Manifest& manifest,
                           std::span<const SourcePiece> pieces,
                           const std::function<void(std::uint64_t)>& written) {
  const fs::path path = folder / name;
  PieceFile result{{name, 0, 0}, name_datasets(name, pieces)};
  Hdf5Writer writer(path);
  declare(writer, manifest, result.pieces);
  std::size_t next = 0;
  for (const SourcePiece& p : pieces) {
    if (p.piece.numel() > 0) write_payload(writer, result.pieces[next++], p.data.span_bytes(), written);
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
