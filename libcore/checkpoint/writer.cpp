#include "checkpoint/writer.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "base/cli/build_info.hpp"
#include "base/error.hpp"
#include "base/hdf5/hdf5_file.hpp"
#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"
#include "base/system/host.hpp"
#include "checkpoint/checkpoint_name.hpp"
#include "checkpoint/digested_bytes.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/writer_manifest.hpp"

namespace dt::checkpoint {

namespace {

/// Returns `path` if nothing has the name. commit() checks again; the check here saves useless
/// writing.
fs::path unused(fs::path path) {
  std::error_code ignored;  // creating the folder reports the error
  if (fs::exists(fs::symlink_status(path, ignored))) throw input_error("{} exists already", path.string());
  return path;
}

void check_size(const fs::path& path, std::uint64_t expected) {
  // Opening the file, instead of asking by name, makes a network file system ask its server.
  const std::uint64_t actual = File::open_read(path).size();
  if (actual == expected) return;
  throw environment_error("{} has {} bytes, expected {}", path.string(), actual, expected);
}

/// Returns a writer's manifest after checking it against the files that it lists.
WriterManifest load_visible_writer_manifest(const fs::path& folder, const Manifest& header, int writer,
                                            double timeout_s) {
  const fs::path path = folder / writer_manifest_name(writer);
  wait_until_visible(path, timeout_s);
  try {
    WriterManifest manifest = load_writer_manifest(folder, header.state.step, header.generation, writer);
    for (const StoredFile& file : manifest.files) {
      wait_until_visible(folder / file.name, timeout_s);
      check_size(folder / file.name, file.bytes);
    }
    return manifest;
  } catch (const Error& error) {
    // A writer wrote and synced the manifest a moment ago. A defect is therefore a failed write, not
    // bad input.
    throw Error(ErrorKind::environment, error.message(), "nothing was committed");
  }
}

void remove_writer_manifest(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) throw system_error(error.value(), "remove", path.string());
}

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

/// One HDF5 file of pieces, which a writing rank adds to a checkpoint's folder, and the digests over
/// all its bytes.
struct PieceFile {
  StoredFile file;
  std::vector<StoredPiece> pieces;  // in the order given, without empty pieces
};

/// Writes `folder`/`name`, with attributes that identify the state, and syncs it. Digests are
/// computed from the source's memory before it is written. `written` receives the number of payload
/// bytes as they are written.
/// Errors: environment.
/// After a crash: there is a file without the HDF5 signature, or none.
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

}  // namespace

CheckpointTransaction::CheckpointTransaction(const fs::path& folder, std::int64_t step,
                                             std::int64_t generation)
    : CheckpointTransaction(step, generation, folder / checkpoint_name(step, generation), false) {}

CheckpointTransaction::CheckpointTransaction(std::int64_t step, std::int64_t generation, fs::path final_path,
                                             bool overwrite)
    : step_(step),
      generation_(generation),
      final_path_(overwrite ? std::move(final_path) : unused(std::move(final_path))),
      overwrite_(overwrite),
      directory_(final_path_) {}

CheckpointTransaction CheckpointTransaction::at(const fs::path& final_path, std::int64_t step,
                                                std::int64_t generation, bool overwrite) {
  return CheckpointTransaction(step, generation, final_path, overwrite);
}

fs::path CheckpointTransaction::commit(Manifest header, int num_writers, double timeout_s) {
  DT_CHECK(header.state.step == step_ && header.generation == generation_,
           "{} is committed as step {} of generation {}", final_path_.string(), header.state.step,
           header.generation);
  DT_CHECK(num_writers >= 1, "a checkpoint of {} writers", num_writers);
  if (header.created.empty()) header.created = utc_timestamp();
  if (header.dt_version.empty()) header.dt_version = dt_version();
  header.files.clear();
  header.pieces.clear();
  for (int writer = 0; writer < num_writers; ++writer) {
    WriterManifest manifest = load_visible_writer_manifest(path(), header, writer, timeout_s);
    std::move(manifest.files.begin(), manifest.files.end(), std::back_inserter(header.files));
    std::move(manifest.pieces.begin(), manifest.pieces.end(), std::back_inserter(header.pieces));
  }
  for (int writer = 0; writer < num_writers; ++writer)
    remove_writer_manifest(path() / writer_manifest_name(writer));
  write_synced(path() / manifest_name, to_json(header));
  directory_.commit(overwrite_);
  return final_path_;
}

void write_shard(const fs::path& unfinished, const Manifest& header, int writer,
                 std::span<const PieceSpec> pieces, const PayloadSource& source,
                 const std::function<void(std::uint64_t)>& written, double timeout_s) {
  DT_CHECK(writer >= 0, "writer {}", writer);
  wait_until_visible(unfinished, timeout_s);
  WriterManifest manifest{header.state.step, header.generation, writer, {}, {}};
  if (std::any_of(pieces.begin(), pieces.end(), [](const PieceSpec& p) { return p.piece.numel() > 0; })) {
    PieceFile stored = write_piece_file(unfinished, piece_file_name(writer), header, pieces, source, written);
    manifest.files = {std::move(stored.file)};
    manifest.pieces = std::move(stored.pieces);
  }
  write_synced(unfinished / writer_manifest_name(writer), to_json(manifest));
  sync_directory(unfinished);
}

void write_shard(const fs::path& unfinished, const Manifest& header, int writer,
                 std::span<const SourcePiece> pieces, const std::function<void(std::uint64_t)>& written,
                 double timeout_s) {
  std::vector<PieceSpec> specs;
  for (const SourcePiece& p : pieces) {
    DT_CHECK(p.data.numel() == p.piece.numel() && p.data.device() == Device::host(),
             "{} {}: {} elements on {} for a piece of {}", p.kind, p.tensor, p.data.numel(),
             p.data.device().to_string(), p.piece.numel());
    specs.push_back({p.tensor, p.kind, p.piece, p.data.dtype()});
  }
  const auto in_memory = [&](std::size_t index, std::uint64_t begin, std::size_t count) {
    return std::span<const std::byte>(pieces[index].data.span_bytes()).subspan(begin, count);
  };
  write_shard(unfinished, header, writer, specs, in_memory, written, timeout_s);
}

}  // namespace dt::checkpoint
