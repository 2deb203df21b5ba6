#pragma once
// part-NNNNN.json: what one writer of a checkpoint reports to the committing process. It exists
// only while the checkpoint has its temporary name, and in shards of local checkpoints. See
// FORMATS.md.

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace dt::checkpoint {

struct WriterManifest {
  std::int64_t step = 0;
  std::int64_t generation = 0;
  std::int64_t writer = 0;
  std::vector<StoredFile> files;  // one, or none if the writer had no elements
  std::vector<StoredPiece> pieces;
};

/// Returns a name such as "rank-00003.h5".
std::string piece_file_name(int writer);
/// Returns a name such as "part-00003.json".
std::string writer_manifest_name(int writer);

/// Returns the text of a writer's manifest. Its last member is the digest of all bytes before it.
std::string to_json(const WriterManifest& manifest);
/// Parses a writer's manifest.
/// Errors: input, naming file and member, as parse_manifest().
WriterManifest parse_writer_manifest(const std::string& text, const std::string& origin);
/// Loads the manifest of `writer` from `folder`.
/// Errors: input, naming the file: as parse_writer_manifest(); a manifest of another step, generation or
/// writer.
WriterManifest load_writer_manifest(const fs::path& folder, std::int64_t step, std::int64_t generation,
                                    int writer);

}  // namespace dt::checkpoint
