#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "checkpoint/digested_bytes.hpp"
#include "checkpoint/reader.hpp"

namespace dt::checkpoint {

namespace {

/// Verifies a file. Continues after a defect, so that one run reports all.
void verify_file(const fs::path& path, const StoredFile& stored,
                 const std::vector<const StoredPiece*>& pieces,
                 const std::function<void(std::uint64_t)>& checked, std::vector<Problem>& problems) {
  try {
    const File file = File::open_read(path);
    const std::uint64_t size = file.size();
    if (size != stored.bytes) {
      problems.push_back({stored.name, fmt::format("has {} bytes, expected {}", size, stored.bytes)});
    }
    for (const DigestedBytes& part : digested_bytes(stored, pieces)) {
      if (std::string why = why_damaged(file, part); !why.empty()) problems.push_back({part.where, why});
      if (checked) checked(part.bytes());
    }
  } catch (const Error& error) {
    problems.push_back({stored.name, error.message(), !error.indicates_corruption()});
  }
}

}  // namespace

std::vector<Problem> verify_checkpoint(const fs::path& checkpoint,
                                       const std::function<void(std::uint64_t)>& checked,
                                       const std::function<bool()>& take) {
  const auto is_mine = [&] { return !take || take(); };
  std::vector<Problem> problems;
  is_mine();  // the manifest itself, which every process needs for its share of the files
  try {
    const Manifest manifest = load_manifest(checkpoint);
    PiecesByFile pieces = pieces_by_file(manifest);
    for (const StoredFile& file : manifest.files) {
      if (is_mine()) verify_file(checkpoint / file.name, file, pieces[file.name], checked, problems);
    }
  } catch (const Error& error) {
    problems.push_back({manifest_name, error.message(), error.kind() != ErrorKind::input});
  }
  return problems;
}

std::vector<std::string> unlisted_files(const fs::path& checkpoint, const Manifest& manifest) {
  std::set<std::string> known = {manifest_name};
  for (const StoredFile& file : manifest.files) known.insert(file.name);
  std::vector<std::string> names;
  for (const fs::path& path : entries_of(checkpoint)) {
    if (std::string name = path.filename().string(); !known.contains(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace dt::checkpoint
