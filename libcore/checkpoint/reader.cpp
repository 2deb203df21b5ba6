#include "checkpoint/reader.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"
#include "checkpoint/digested_bytes.hpp"
#include "checkpoint/elements.hpp"
#include "checkpoint/piece_index.hpp"

namespace dt::checkpoint {

namespace {

/// A cache of the most recently read blocks of a checkpoint's pieces. Several requests may need the
/// same block: consecutive reads of a tensor's parts, or rows of adjacent tensor-parallel shards.
/// The cache reads and digests it once.
class BlockCache {
 public:
  using Block = std::shared_ptr<const std::vector<std::byte>>;
  /// A block's identity: its piece's number, and its number in the payload.
  struct Key {
    std::uint64_t piece = 0;
    std::uint64_t block = 0;
    bool operator==(const Key&) const = default;
  };

  /// Creates a cache that holds at most `max_bytes`.
  explicit BlockCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Returns the block of `count` bytes. Calls `load` to fill it if it is not cached.
  /// Thread safety: any thread. Threads that request a missing block at the same time each load it.
  Block get(const Key& key, std::size_t count, const std::function<void(std::span<std::byte>)>& load);

 private:
  struct Entry {
    Key key;
    Block block;
  };
  Block find(const Key& key);
  void insert(const Key& key, const Block& block);

  std::mutex mutex_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
};

BlockCache::Block BlockCache::get(const Key& key, std::size_t count,
                                  const std::function<void(std::span<std::byte>)>& load) {
  if (const Block found = find(key)) return found;
  const auto block = std::make_shared<std::vector<std::byte>>(count);
  load(*block);
  insert(key, block);
  return block;
}

BlockCache::Block BlockCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->block;
}

void BlockCache::insert(const Key& key, const Block& block) {
  const std::lock_guard lock(mutex_);
  entries_.push_front({key, block});
  bytes_ += block->size();
  while (bytes_ > max_bytes_) {
    bytes_ -= entries_.back().block->size();
    entries_.pop_back();
  }
}

constexpr const char* remedy_damaged = "the checkpoint is damaged: 'dt-checkpoint verify' lists all damage";

struct Range {
  std::int64_t begin;
  std::int64_t end;
};

/// A piece that may hold wanted elements.
struct Found {
  std::uint64_t number;
  bool follows;  // its interval begins where that of the piece before ends, or later
};

/// Returns the first element of [0, count) that no range covers, or `count`.
std::int64_t first_uncovered(std::vector<Range>& ranges, std::int64_t count) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::int64_t covered = 0;
  for (const Range& range : ranges) {
    if (range.begin > covered) break;
    covered = std::max(covered, range.end);
  }
  return std::min(covered, count);
}

/// Returns "" if the file exists with its size, else what is wrong.
/// Errors: environment if that cannot be determined.
std::string why_incomplete(const fs::path& path, std::uint64_t bytes) {
  std::error_code error;
  const std::uint64_t actual = fs::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory ||
      error == std::errc::is_a_directory)
    return "is missing or is not a file: " + error.message();
  if (error) throw system_error(error.value(), "stat", path.string());
  if (actual == bytes) return {};
  return fmt::format("has {} bytes, expected {}", actual, bytes);
}

}  // namespace

struct Reader::State {
  explicit State(std::size_t cache_bytes) : cache(cache_bytes) {}

  fs::path path;
  Manifest manifest;
  std::unordered_map<std::string, std::size_t> files;  // numbers in the manifest
  mutable std::mutex mutex;                            // guards the members below
  mutable std::unique_ptr<const PieceIndex> pieces;
  mutable std::set<std::string> sound;  // files whose metadata has been checked
  mutable std::map<std::string, std::shared_ptr<const File>> open;
  mutable BlockCache cache;
  mutable std::atomic<std::uint64_t> bytes_read = 0;

  const PieceIndex& index() const;
  std::shared_ptr<const File> file(const std::string& name) const;
  void check_metadata(const File& file, const PieceIndex& index) const;
  void load_block(const File& file, const StoredPiece& piece, std::uint64_t block,
                  std::span<std::byte> bytes) const;
};

/// Opens the index when it is first asked for.
const PieceIndex& Reader::State::index() const {
  const std::lock_guard lock(mutex);
  if (pieces) return *pieces;
  try {
    pieces = open_pieces(manifest, path);
  } catch (const Error&) {
    if (is_removed(path)) throw removed_error(path);
    throw;
  }
  return *pieces;
}

/// Returns the open file. Files stay open between reads, but a checkpoint of many ranks must not
/// use up the process's descriptors.
std::shared_ptr<const File> Reader::State::file(const std::string& name) const {
  constexpr std::size_t max_open = 64;
  const PieceIndex& pieces_of_all = index();
  const std::lock_guard lock(mutex);
  if (const auto found = open.find(name); found != open.end()) return found->second;
  if (open.size() >= max_open) open.clear();
  const auto file = [&] {
    try {
      return std::make_shared<const File>(File::open_read(path / name));
    } catch (const Error&) {
      if (is_removed(path)) throw removed_error(path);
      throw;
    }
  }();
  if (!sound.contains(name)) check_metadata(*file, pieces_of_all);
  sound.insert(name);
  open[name] = file;
  return file;
}

/// Checks the bytes outside tensors. Reading finds tensors by the manifest alone, so damage to
/// HDF5's metadata would do no harm here. But the file is not as written, and other programs would
/// misread it.
void Reader::State::check_metadata(const File& file, const PieceIndex& index) const {
  const std::size_t number = files.at(file.path().filename());
  const DigestedBytes metadata = metadata_of(manifest.files[number], index.of_file(number));
  const std::uint64_t actual = digest_ranges(file, metadata.ranges);
  if (actual == metadata.digest) return;
  throw Error(ErrorKind::input, fmt::format("{}: {}", file.path().string(), describe(metadata, actual)),
              remedy_damaged);
}

void Reader::State::load_block(const File& file, const StoredPiece& piece, std::uint64_t block,
                               std::span<std::byte> bytes) const {
  const std::uint64_t begin = piece.offset + block * digest_block_bytes;
  constexpr std::size_t part_bytes = std::size_t{256} << 10;  // parts stay in a core's cache until digested
  Digester digester;
  for (std::size_t at = 0; at < bytes.size(); at += part_bytes) {
    const auto part = bytes.subspan(at, std::min(part_bytes, bytes.size() - at));
    file.read_at(begin + at, part);
    digester.update(part);
  }
  bytes_read += bytes.size();
  const std::uint64_t expected = piece.digests[block];
  const std::uint64_t actual = digester.value();
  if (actual == expected) return;
  throw Error(
      ErrorKind::input,
      fmt::format("{}: {} of {}: bytes {} to {} have the digest {}, expected {}", file.path().string(),
                  piece.kind, piece.tensor, begin, begin + bytes.size(), to_hex(actual), to_hex(expected)),
      remedy_damaged);
}

Reader::Reader(const fs::path& checkpoint, std::size_t cached_blocks)
    : state_(std::make_unique<State>(cached_blocks * digest_block_bytes)) {
  state_->path = checkpoint;
  state_->manifest = load_manifest(checkpoint);
  const Manifest& manifest = state_->manifest;
  const auto require = [&](const StoredFile& file) {
    const fs::path path = checkpoint / file.name;
    const std::string why = why_incomplete(path, file.bytes);
    if (why.empty()) return;
    if (is_removed(checkpoint)) throw removed_error(checkpoint);
    throw Error(ErrorKind::input, fmt::format("{} {}", path.string(), why),
                "the checkpoint is incomplete: use another one ('dt-checkpoint list RUN' lists them)");
  };
  if (manifest.index) require(*manifest.index);
  for (const StoredFile& file : manifest.files) require(file);
  for (std::size_t i = 0; i < manifest.files.size(); ++i) state_->files[manifest.files[i].name] = i;
  if (!manifest.index) state_->index();
}

Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;

const fs::path& Reader::path() const {
  return state_->path;
}
const Manifest& Reader::manifest() const {
  return state_->manifest;
}

const PieceIndex& Reader::pieces() const {
  return state_->index();
}

bool Reader::has(const std::string& kind, const std::string& tensor) const {
  return pieces().find(kind, tensor) != nullptr;
}

void Reader::read(const std::string& kind, const std::string& tensor, const Piece& wanted,
                  const Tensor& out) const {
  const PieceIndex& index = pieces();
  const StoredTensor* stored = index.find(kind, tensor);
  const std::string name = fmt::format("{}: {} of {}", state_->path.string(), kind, tensor);
  if (stored == nullptr) throw Error(ErrorKind::input, name + " is not in the checkpoint");
  DT_CHECK(out.numel() == wanted.numel(), "{}: {} elements are read into {}", name, wanted.numel(),
           out.numel());
  const auto require_fitting = [&](const Shape& global, DType dtype) {
    if (global == wanted.global && is_convertible(dtype, out.dtype())) return;
    throw Error(ErrorKind::input,
                fmt::format("{} has shape {} and type {}", name, global.to_string(), dtype_name(dtype)),
                fmt::format("expected shape {}, as {}", wanted.global.to_string(), dtype_name(out.dtype())));
  };
  std::vector<Range> covered;
  BlockCache::Block block_in_use;
  std::vector<Found> found;
  for (const StoredBox& box : stored->boxes) {
    require_fitting(box.whole.global, stored->dtype);
    const auto [first, last] = index.find_intersecting(box, wanted);
    for (std::uint64_t number = first; number < last; ++number)
      found.push_back({number, number > first && box.are_disjoint});
  }
  std::int64_t free_from = 0;  // end of the previous piece of the box
  for (const auto& [number, follows] : found) {
    const StoredPiece piece = index.piece(number);
    require_fitting(piece.piece.global, piece.dtype);
    if (follows && piece.piece.begin < free_from)
      throw Error(ErrorKind::input, name + " has pieces that overlap", remedy_damaged);
    free_from = piece.piece.end;
    const std::vector<CopyRange> runs = intersect(piece.piece, wanted);
    if (runs.empty()) continue;
    for (const CopyRange& run : runs) covered.push_back({run.target, run.target + run.count});
    const std::shared_ptr<const File> file = state_->file(piece.file);
    const auto load = [&](std::uint64_t block, std::span<std::byte> bytes) {
      state_->load_block(*file, piece, block, bytes);
    };
    const auto view = [&](std::uint64_t block, std::size_t count) -> std::span<const std::byte> {
      block_in_use =
          state_->cache.get({number, block}, count, [&](std::span<std::byte> bytes) { load(block, bytes); });
      return *block_in_use;
    };
    copy_ranges(runs, piece.dtype, piece.bytes(), load, view, out);
  }
  const std::int64_t missing = first_uncovered(covered, wanted.numel());
  if (missing < wanted.numel()) {
    throw Error(ErrorKind::input,
                fmt::format("{}: no stored piece holds element {} of box {}", name, wanted.begin + missing,
                            wanted.box.to_string()),
                "the checkpoint does not contain the whole tensor");
  }
}

std::uint64_t Reader::bytes_read() const {
  return state_->bytes_read;
}

std::vector<Problem> Reader::verify(const std::function<void(std::uint64_t)>& checked) const {
  return verify_checkpoint(path(), checked);
}

void require_optimizer_state(const Reader& reader) {
  if (!has_weights_only(reader.manifest(), reader.pieces())) return;
  const std::string path = reader.path().string();
  throw Error(ErrorKind::input,
              fmt::format("{} holds weights but no optimizer state, so a run cannot resume from it", path),
              fmt::format("start a new run from these weights: --init-from {}", path));
}

}  // namespace dt::checkpoint
