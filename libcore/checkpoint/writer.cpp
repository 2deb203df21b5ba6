#include "checkpoint/writer.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "base/cli/build_info.hpp"
#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"
#include "base/system/concurrent_calls.hpp"
#include "base/system/host.hpp"
#include "checkpoint/checkpoint_name.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/writer_manifest.hpp"

namespace dt::checkpoint {

namespace {

/// Returns `path` if nothing has the name. commit() checks again; the check here saves useless
/// writing.
fs::path unused(fs::path path) {
  std::error_code ignored;  // creating the folder reports the error
  if (fs::exists(fs::symlink_status(path, ignored))) throw input_error("{} already exists", path.string());
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
    throw Error(ErrorKind::environment, error.message(), "the checkpoint was not committed");
  }
}

void remove_writer_manifest(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) throw system_error(error.value(), "remove", path.string());
}

/// Checks the files of many writers, several at a time, since each takes a request to a file server.
void check_files(const fs::path& folder, std::span<const StoredFile> files, double timeout_s) {
  call_concurrently(files.size(), max_concurrent_files, [&](std::size_t i) {
    wait_until_visible(folder / files[i].name, timeout_s);
    check_size(folder / files[i].name, files[i].bytes);
  });
}

void write_index(Manifest& manifest, const WrittenPieces& written, const fs::path& folder) {
  StoredFile index{index_name, 0, 0};
  File file = File::create(folder / index.name);
  file.write(written.index_file(manifest, index));
  file.sync();
  file.close();
  manifest.index = index;
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

void CheckpointTransaction::check_header(const Manifest& header) const {
  DT_CHECK(header.state.step == step_ && header.generation == generation_,
           "{} cannot be committed as step {}, generation {}", final_path_.string(), header.state.step,
           header.generation);
}

fs::path CheckpointTransaction::commit(Manifest header, int num_writers, const CommitOptions& options) {
  check_header(header);
  DT_CHECK(num_writers >= 1, "a checkpoint needs at least one writer, not {}", num_writers);
  WrittenPieces written;
  for (int writer = 0; writer < num_writers; ++writer)
    written.add(load_visible_writer_manifest(path(), header, writer, options.timeout_s));
  for (int writer = 0; writer < num_writers; ++writer)
    remove_writer_manifest(path() / writer_manifest_name(writer));
  return finish(std::move(header), written, options);
}

fs::path CheckpointTransaction::commit(Manifest header, const WrittenPieces& written,
                                       const CommitOptions& options) {
  check_header(header);
  check_files(path(), written.files(), options.timeout_s);
  return finish(std::move(header), written, options);
}

/// Lists the pieces in the manifest, or writes their index.
fs::path CheckpointTransaction::finish(Manifest header, const WrittenPieces& written,
                                       const CommitOptions& options) {
  if (header.created.empty()) header.created = utc_timestamp();
  if (header.dt_version.empty()) header.dt_version = dt_version();
  header.files = written.files();
  header.files.insert(header.files.end(), options.other_files.begin(), options.other_files.end());
  header.pieces.clear();
  header.index.reset();
  if (header.files.size() <= options.max_files_with_list) {
    header.pieces = written.list();
  } else {
    write_index(header, written, path());
  }
  write_synced(path() / manifest_name, to_json(header));
  directory_.commit(overwrite_);
  return final_path_;
}

WriterManifest write_files(const fs::path& unfinished, const Manifest& header, int writer,
                           std::span<const PieceSpec> pieces, const PayloadSource& source,
                           const std::function<void(std::uint64_t)>& written, double timeout_s) {
  DT_CHECK(writer >= 0, "writer {} is negative", writer);
  wait_until_visible(unfinished, timeout_s);
  PieceFileWriter file(unfinished, header, writer, pieces);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto bytes = static_cast<std::uint64_t>(pieces[i].piece.numel()) * dtype_bytes(pieces[i].dtype);
    for (std::uint64_t begin = 0; begin < bytes; begin += digest_block_bytes) {
      const auto count = std::min<std::uint64_t>(digest_block_bytes, bytes - begin);
      file.write_block(i, source(i, begin, count));
      if (written) written(count);
    }
  }
  return file.close();
}

WriterManifest write_files(const fs::path& unfinished, const Manifest& header, int writer,
                           std::span<const SourcePiece> pieces,
                           const std::function<void(std::uint64_t)>& written, double timeout_s) {
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
  return write_files(unfinished, header, writer, specs, in_memory, written, timeout_s);
}

void write_shard(const fs::path& unfinished, const Manifest& header, int writer,
                 std::span<const SourcePiece> pieces, const std::function<void(std::uint64_t)>& written,
                 double timeout_s) {
  const WriterManifest manifest = write_files(unfinished, header, writer, pieces, written, timeout_s);
  write_synced(unfinished / writer_manifest_name(writer), to_json(manifest));
  sync_directory(unfinished);
}

}  // namespace dt::checkpoint
