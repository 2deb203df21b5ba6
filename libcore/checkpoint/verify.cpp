#include "checkpoint/verify.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "checkpoint/digested_bytes.hpp"
#include "checkpoint/piece_index.hpp"

namespace dt::checkpoint {

namespace {

/// Verifies a file. Continues after a defect, so that one run reports all.
void verify_file(const fs::path& path, const StoredFile& stored, const std::vector<DigestedBytes>& parts,
                 const std::function<void(std::uint64_t)>& checked, std::vector<Problem>& problems) {
  try {
    const File file = File::open_read(path);
    const std::uint64_t size = file.size();
    if (size != stored.bytes) {
      problems.push_back({stored.name, fmt::format("has {} bytes, expected {}", size, stored.bytes)});
    }
    for (const DigestedBytes& part : parts) {
      if (std::string why = why_damaged(file, part); !why.empty()) problems.push_back({part.where, why});
      if (checked) checked(part.bytes());
    }
  } catch (const Error& error) {
    problems.push_back({stored.name, error.message(), !error.indicates_corruption()});
  }
}

/// The pieces of a checkpoint that is verified. Where the index is damaged, some files cannot be checked.
class IndexVerification {
 public:
  IndexVerification(const Manifest& manifest, const fs::path& checkpoint, std::vector<Problem>& problems)
      : manifest_(manifest),
        path_(checkpoint / (manifest.index ? manifest.index->name : "")),
        problems_(problems) {
    try {
      pieces_ = open_pieces(manifest, checkpoint);
    } catch (const Error& error) {
      if (!manifest.index) throw;
      why_ = {manifest.index->name, error.message(), !error.indicates_corruption()};
    }
  }

  /// Verifies every block, and what the pieces say.
  void verify(const std::function<void(std::uint64_t)>& checked) {
    is_verified_ = true;
    const StoredFile& index = *manifest_.index;
    const std::size_t before = problems_.size();
    try {
      verify_file(path_, index, digested_bytes(index, load_block_digests(path_, index)), checked, problems_);
      if (pieces_ && problems_.size() == before) pieces_->check();
    } catch (const Error& error) {
      problems_.push_back({index.name, error.message(), !error.indicates_corruption()});
    }
    if (!pieces_ && problems_.size() == before) problems_.push_back(*why_);
  }

  /// Returns none if the index does not say what is in the file.
  std::optional<std::vector<StoredPiece>> of_file(std::size_t file) {
    try {
      if (pieces_) return pieces_->of_file(file);
    } catch (const Error& error) {
      if (!manifest_.index) throw;
      if (!why_) why_ = {manifest_.index->name, error.message(), !error.indicates_corruption()};
    }
    ++num_unknown_;
    return std::nullopt;
  }

  /// Reports the files that could not be checked.
  void report() {
    if (num_unknown_ == 0) return;
    if (!is_verified_)
      problems_.push_back(*why_);  // another process verifies the index, but may not have come to it
    problems_.push_back({manifest_.index->name,
                         fmt::format("without the piece index, {} of {} files cannot be checked",
                                     num_unknown_, manifest_.files.size()),
                         why_->is_unreadable});
  }

 private:
  const Manifest& manifest_;
  fs::path path_;
  std::vector<Problem>& problems_;
  std::unique_ptr<const PieceIndex> pieces_;
  std::optional<Problem> why_;  // the index cannot be read
  bool is_verified_ = false;
  std::size_t num_unknown_ = 0;
};

}  // namespace

std::vector<Problem> verify_checkpoint(const fs::path& checkpoint,
                                       const std::function<void(std::uint64_t)>& checked,
                                       const std::function<bool()>& take) {
  const auto is_mine = [&] { return !take || take(); };
  std::vector<Problem> problems;
  is_mine();  // the manifest itself, which every process needs for its share of the files
  try {
    const Manifest manifest = load_manifest(checkpoint);
    IndexVerification index(manifest, checkpoint, problems);
    if (manifest.index && is_mine()) index.verify(checked);
    for (std::size_t i = 0; i < manifest.files.size(); ++i) {
      if (!is_mine()) continue;
      const StoredFile& file = manifest.files[i];
      if (const auto pieces = index.of_file(i))
        verify_file(checkpoint / file.name, file, digested_bytes(file, *pieces), checked, problems);
    }
    index.report();
  } catch (const Error& error) {
    problems.push_back({manifest_name, error.message(), error.kind() != ErrorKind::input});
  }
  return problems;
}

std::vector<std::string> unlisted_files(const fs::path& checkpoint, const Manifest& manifest) {
  std::set<std::string> known = {manifest_name};
  if (manifest.index) known.insert(manifest.index->name);
  for (const StoredFile& file : manifest.files) known.insert(file.name);
  std::vector<std::string> names;
  for (const fs::path& path : entries_of(checkpoint)) {
    if (std::string name = path.filename().string(); !known.contains(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace dt::checkpoint
