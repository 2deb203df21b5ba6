#include <algorithm>
#include <map>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "checkpoint/piece_file.hpp"
#include "checkpoint/reader.hpp"

namespace dt::checkpoint {

namespace {

/// Goes on after a fault, so that one run names all that is wrong.
class Verifier {
 public:
  Verifier(const fs::path& checkpoint, const std::function<void(std::uint64_t)>& checked)
      : checkpoint_(checkpoint), checked_(checked) {}

  void file(const StoredFile& stored, const std::vector<StoredPiece>& pieces) {
    try {
      const File file = File::open_read(checkpoint_ / stored.name);
      const std::uint64_t size = file.size();
      if (size != stored.bytes) {
        problems.push_back({stored.name, fmt::format("has {} bytes, expected {}", size, stored.bytes)});
      }
      for (const StoredPiece& piece : pieces) payload(file, piece);
      metadata(file, stored, pieces);
    } catch (const Error& error) {
      problems.push_back({stored.name, error.message()});
    }
  }

  std::vector<Problem> problems;

 private:
  void payload(const File& file, const StoredPiece& piece) {
    const std::string where = fmt::format("{}: {} of {}", piece.file, piece.kind, piece.tensor);
    for (std::uint64_t block = 0; block < piece.digests.size(); ++block) {
      const std::uint64_t begin = block * digest_block_bytes;
      buffer_.resize(std::min<std::uint64_t>(digest_block_bytes, piece.bytes() - begin));
      try {
        file.read_at(piece.offset + begin, buffer_);
        const std::string bytes =
            fmt::format("bytes {} to {}", piece.offset + begin, piece.offset + begin + buffer_.size());
        compare(where, bytes, digest(buffer_), piece.digests[block]);
      } catch (const Error& error) {
        problems.push_back({where, error.message()});
      }
      if (checked_) checked_(buffer_.size());
    }
  }

  void metadata(const File& file, const StoredFile& stored, const std::vector<StoredPiece>& pieces) {
    const std::vector<ByteRange> ranges = metadata_ranges(stored.bytes, pieces);
    compare(stored.name, "the bytes outside the tensors", digest_ranges(file, ranges),
            stored.metadata_digest);
    std::uint64_t bytes = 0;
    for (const ByteRange& range : ranges) bytes += range.end - range.begin;
    if (checked_) checked_(bytes);
  }

  void compare(const std::string& where, const std::string& what, std::uint64_t actual,
               std::uint64_t expected) {
    if (actual == expected) return;
    problems.push_back(
        {where, fmt::format("{} have the digest {}, expected {}", what, to_hex(actual), to_hex(expected))});
  }

  const fs::path& checkpoint_;
  const std::function<void(std::uint64_t)>& checked_;
  std::vector<std::byte> buffer_;
};

}  // namespace

std::vector<Problem> verify_checkpoint(const fs::path& checkpoint,
                                       const std::function<void(std::uint64_t)>& checked) {
  Verifier verifier(checkpoint, checked);
  try {
    const Manifest manifest = load_manifest(checkpoint);
    std::map<std::string, std::vector<StoredPiece>> pieces;
    for (const StoredPiece& piece : manifest.pieces) pieces[piece.file].push_back(piece);
    for (const StoredFile& file : manifest.files) verifier.file(file, pieces[file.name]);
  } catch (const Error& error) {
    verifier.problems.push_back({manifest_name, error.message()});
  }
  return verifier.problems;
}

}  // namespace dt::checkpoint
