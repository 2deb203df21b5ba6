// Copying a writer's files from a shard into the run directory.

#include <fcntl.h>

#include "base/error.hpp"
#include "base/io/open_at.hpp"
#include "checkpoint/digested_bytes.hpp"
#include "checkpoint/writer_manifest.hpp"
#include "run/local/local_store.hpp"

namespace dt::run {

namespace {

/// Runs `action` and turns its errors into input errors. Files that this node cannot read may exist
/// on another, so the fault is the shard's, not the start's.
template <class Action>
auto reading(Action action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(ErrorKind::input, error.message());
  }
}

/// Opens a file of this user only. The shard's codes do not cover its files of weights, so another
/// user's file must not be read.
File open_own(const fs::path& path) {
  const File parent = File::adopt(open_parent(path, "open"), path.parent_path());
  return File::adopt(open_file_at(parent.descriptor(), path.filename(), path, O_RDONLY, Owner::self), path);
}

void copy_synced(const fs::path& from, const fs::path& to) {
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  File source = reading([&] { return open_own(from); });
  File target = File::create(to);
  while (const std::size_t count = reading([&] { return source.read(buffer); })) {
    target.write(std::span(buffer).first(count));
  }
  target.sync();
  target.close();
}

void check_copy(const fs::path& path, const fs::path& origin, const checkpoint::StoredFile& stored,
                const checkpoint::WriterManifest& manifest) {
  const File file = File::open_read(path);
  if (file.size() != stored.bytes)
    throw input_error("{} has {} bytes, expected {}", origin.string(), file.size(), stored.bytes);
  std::vector<const checkpoint::StoredPiece*> pieces;
  for (const checkpoint::StoredPiece& piece : manifest.pieces) pieces.push_back(&piece);
  for (const checkpoint::DigestedBytes& bytes : checkpoint::digested_bytes(stored, pieces)) {
    if (const std::string why = checkpoint::why_damaged(file, bytes); !why.empty())
      throw input_error("{}: {}", origin.string(), why);
  }
}

}  // namespace

void LocalStore::copy_writer_files(const fs::path& shard, const checkpoint::Manifest& header, int writer,
                                   const fs::path& unfinished) const {
  const std::string part_name = checkpoint::writer_manifest_name(writer);
  // Only content that matches its code is parsed.
  const std::string text = reading([&] { return read_file(shard / part_name); });
  ShardCodes own_codes = codes(header.state.step, header.generation);
  reading([&] { own_codes.load(shard); });
  own_codes.check(part_name, text);
  const checkpoint::WriterManifest manifest =
      checkpoint::parse_writer_manifest(text, (shard / part_name).string());
  std::vector<std::string> names = {part_name};
  for (const checkpoint::StoredFile& file : manifest.files) names.push_back(file.name);
  try {
    for (const checkpoint::StoredFile& file : manifest.files) {
      copy_synced(shard / file.name, unfinished / file.name);
      check_copy(unfinished / file.name, shard / file.name, file, manifest);
    }
    write_synced(unfinished / part_name, text);
    sync_directory(unfinished);
  } catch (...) {
    std::error_code ignored;
    for (const std::string& name : names) fs::remove(unfinished / name, ignored);
    throw;
  }
}

}  // namespace dt::run
