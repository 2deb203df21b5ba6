#pragma once
// part-NNNNN.json: what one writer of a checkpoint tells the one that commits. It lives only while the
// checkpoint is under its temporary name, and in shares of local ones. See FORMATS.md.

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace dt::checkpoint {

struct Part {
  std::int64_t step = 0;
  std::int64_t generation = 0;
  std::int64_t writer = 0;
  std::vector<StoredFile> files;  // one, or none where the writer had no elements
  std::vector<StoredPiece> pieces;
};

/// "rank-00003.h5"
std::string piece_file_name(int writer);
/// "part-00003.json"
std::string part_file_name(int writer);

/// Text of a part file; its last member is the digest of all bytes before it.
std::string to_json(const Part& part);
/// Errors: input, naming file and member, as of parse_manifest.
Part parse_part(const std::string& text, const std::string& origin);
/// What `writer` left in `folder`. Errors: input, naming the file: as above; a part of another step,
/// generation or writer.
Part load_part(const fs::path& folder, std::int64_t step, std::int64_t generation, int writer);

}  // namespace dt::checkpoint
