#include "checkpoint/writer.hpp"

#include <algorithm>

#include "base/cli/build_info.hpp"
#include "base/error.hpp"
#include "base/system/host.hpp"
#include "checkpoint/checkpoint_name.hpp"
#include "checkpoint/piece_file.hpp"
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
