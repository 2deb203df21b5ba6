#include "checkpoint/piece_file.hpp"

#include <algorithm>
#include <map>

#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"
#include "checkpoint/digested_bytes.hpp"
#include "checkpoint/piece_index.hpp"

namespace dt::checkpoint {

namespace {

constexpr std::int64_t piece_file_version = 1;

/// Returns the box's shape if the piece fills it, so that other tools see a matrix, else a vector's
/// shape.
std::vector<std::uint64_t> dataset_shape(const Piece& piece) {
  const bool fills_its_box = piece.begin == 0 && piece.end == piece.box.numel();
  if (!fills_its_box) return {static_cast<std::uint64_t>(piece.numel())};
  return {piece.box.dims().begin(), piece.box.dims().end()};
}

/// Names the datasets. A whole tensor keeps its name. Parts are numbered, so that a file may hold
/// several of one tensor.
std::vector<StoredPiece> name_datasets(const std::string& file, std::span<const PieceSpec> pieces) {
  std::vector<StoredPiece> stored;
  std::map<std::string, std::uint32_t> parts;
  for (const PieceSpec& p : pieces) {
    p.piece.validate();
    if (p.piece.numel() == 0) continue;
    const std::uint32_t part = p.piece.is_whole() ? 0 : parts[p.kind + "/" + p.tensor]++;
    stored.push_back(
        {p.tensor, p.kind, p.dtype, p.piece, file, dataset_name(p.kind, p.tensor, p.piece, part), {}, 0});
  }
  return stored;
}

void declare(Hdf5Writer& file, const Manifest& header, std::vector<StoredPiece>& stored) {
  file.set_attribute("/", "format", std::string("dt-checkpoint-pieces"));
  file.set_attribute("/", "version", piece_file_version);
  file.set_attribute("/", "step", header.state.step);
  file.set_attribute("/", "generation", header.generation);
  for (const StoredPiece& p : stored) file.declare(p.dataset, p.dtype, dataset_shape(p.piece));
  file.end_declarations();
  for (StoredPiece& p : stored) p.offset = file.info(p.dataset).offset;
}

}  // namespace

PieceFileWriter::PieceFileWriter(const fs::path& folder, const Manifest& header, int writer,
                                 std::span<const PieceSpec> pieces)
    : path_(folder / piece_file_name(writer)), result_{header.state.step, header.generation, writer, {}, {}} {
  result_.pieces = name_datasets(piece_file_name(writer), pieces);
  std::size_t next = 0;
  for (const PieceSpec& p : pieces) progress_.push_back({p.piece.numel() > 0 ? next++ : next, 0});
  if (result_.pieces.empty()) return;
  file_.emplace(path_, result_.pieces.size());
  declare(*file_, header, result_.pieces);
}

/// Digests and writes in parts small enough to stay in a core's cache between the two.
void PieceFileWriter::write_block(std::size_t index, std::span<const std::byte> block) {
  constexpr std::size_t part_bytes = std::size_t{256} << 10;
  auto& [number, offset] = progress_[index];
  StoredPiece& stored = result_.pieces[number];
  Digester digester;
  for (std::size_t begin = 0; begin < block.size(); begin += part_bytes) {
    const auto part = block.subspan(begin, std::min(part_bytes, block.size() - begin));
    digester.update(part);
    file_->write(stored.dataset, offset + begin, part);
  }
  offset += block.size();
  stored.digests.push_back(digester.value());
}

WriterManifest PieceFileWriter::close() {
  if (!file_) return std::move(result_);
  file_->close();
  const File file = File::open_read(path_);
  const std::uint64_t bytes = file.size();
  const std::uint64_t digest = digest_ranges(file, metadata_ranges(bytes, result_.pieces));
  result_.files = {{path_.filename().string(), bytes, digest}};
  return std::move(result_);
}

}  // namespace dt::checkpoint
