#include "data/staging.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "data/dataset_file.hpp"
#include "data/tokenizer.hpp"
#include "data/verify_dataset.hpp"

namespace dt::data {

namespace {

constexpr const char* prefix = "dt-dataset-";
constexpr const char* copying_lock = "dt-stage.lock";
constexpr std::size_t buffer_bytes = std::size_t{4} << 20;
constexpr auto pause = std::chrono::milliseconds(50);

/// Whether the open folder is still what the path names: it may have been renamed before it was locked.
bool is_same(int descriptor, const fs::path& folder) {
  struct stat held {
  }, named{};
  return ::fstat(descriptor, &held) == 0 && ::stat(folder.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/// Files of a dataset that are copied, dataset.json last.
std::vector<fs::path> files_of(const fs::path& dataset) {
  std::vector<fs::path> files;
  for (const ShardEntry& shard : read_dataset_file(dataset).shards) files.emplace_back(shard.file);
  if (path_exists(dataset / tokenizer_file_name)) files.emplace_back(tokenizer_file_name);
  files.emplace_back(dataset_file_name);
  return files;
}

struct Original {
  fs::path folder;
  std::vector<fs::path> files;
  std::uint64_t bytes = 0;
  std::string name;  // of its copy
};

Original describe_original(const fs::path& dataset) {
  Original original{dataset, files_of(dataset), 0, {}};
  std::string identity = read_file(dataset / dataset_file_name);
  for (const fs::path& file : original.files) {
    struct stat status {};
    const fs::path path = dataset / file;
    if (::stat(path.c_str(), &status) != 0) throw system_error(errno, "look at", path.string());
    original.bytes += static_cast<std::uint64_t>(status.st_size);
    identity += fmt::format("\n{} {} {}.{:09}", file.string(), status.st_size, status.st_mtim.tv_sec,
                            status.st_mtim.tv_nsec);
  }
  original.name = prefix + to_hex(digest(identity));
  return original;
}

struct Copy {
  fs::path folder;
  std::uint64_t bytes = 0;
  fs::file_time_type used;
};

std::uint64_t bytes_under(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) bytes += entry.file_size();
  return bytes;
}

/// Least recently used first.
std::vector<Copy> copies_in(const fs::path& storage) {
  std::vector<Copy> copies;
  for (const auto& entry : fs::directory_iterator(storage)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    copies.push_back({entry.path(), bytes_under(entry.path()), entry.last_write_time()});
  }
  std::ranges::sort(copies, {}, &Copy::used);
  return copies;
}

/// What copies and removals that were killed left. Only by who holds the lock on copying.
void remove_leftovers(const fs::path& storage) {
  for (const auto& entry : fs::directory_iterator(storage)) {
    if (entry.path().filename().string().starts_with(std::string(".") + prefix)) fs::remove_all(entry.path());
  }
}

/// A copy that nobody uses, nor can while this lives.
struct UnusedCopy {
  fs::path folder;
  FolderLock lock;
};

void remove_copy(const UnusedCopy& copy) {
  const fs::path removed = copy.folder.parent_path() / ("." + copy.folder.filename().string() + ".removed");
  fs::rename(copy.folder, removed);  // at once gone for who looks for it
  fs::remove_all(removed);
}

struct Room {
  std::uint64_t limit;
  std::uint64_t taken = 0;  // by copies
  std::uint64_t free;

  bool holds(std::uint64_t bytes) const { return bytes <= limit && taken <= limit - bytes && bytes <= free; }
};

Error no_room_error(const StageRequest& request, const Room& room, std::uint64_t bytes) {
  return environment_error(
      "{} has no room for {}, even without the copies of datasets that nobody uses: {} would be free, copies "
      "take {}{}",
      request.storage.string(), format_bytes(bytes), format_bytes(room.free), format_bytes(room.taken),
      request.limit_bytes ? fmt::format(" of at most {}", format_bytes(room.limit)) : "");
}

/// Removes nothing unless what it removes is enough.
void make_room(const StageRequest& request, std::uint64_t bytes) {
  const std::vector<Copy> copies = copies_in(request.storage);
  Room room{.limit = request.limit_bytes.value_or(UINT64_MAX), .free = fs::space(request.storage).available};
  for (const Copy& copy : copies) room.taken += copy.bytes;
  std::vector<UnusedCopy> unused;
  for (const Copy& copy : copies) {
    if (room.holds(bytes)) break;
    auto lock = FolderLock::take(copy.folder, FolderLock::Kind::alone);
    if (!lock) continue;
    unused.push_back({copy.folder, std::move(*lock)});
    room.taken -= copy.bytes;
    room.free += copy.bytes;
  }
  if (!room.holds(bytes)) throw no_room_error(request, room, bytes);
  for (const UnusedCopy& copy : unused) remove_copy(copy);
}

void check_not_stopped(const StageRequest& request) {
  if (request.stop && request.stop()) throw environment_error("copying was told to stop");
}

/// `told`: bytes copied before, and after.
void copy_file(const fs::path& from, const fs::path& to, const StageRequest& request, std::uint64_t total,
               std::uint64_t& told) {
  File source = File::open_read(from), target = File::create(to);
  std::vector<std::byte> buffer(buffer_bytes);
  while (const std::size_t count = source.read(buffer)) {
    check_not_stopped(request);
    target.write(std::span(buffer).first(count));
    told += count;
    if (request.progress) request.progress(told, total);
  }
  target.close();
}

void check_copy(const fs::path& folder, const StageRequest& request) {
  const auto problems =
      verify_dataset(folder, [&](std::uint64_t, std::uint64_t) { check_not_stopped(request); });
  if (!problems.empty() && problems.front().is_unreadable)
    throw environment_error("a copy cannot be read: {}", problems.front().what);
  if (!problems.empty()) throw input_error("a copy does not verify: {}", problems.front().what);
}

/// By who holds the lock on copying.
void make_copy(const Original& original, const StageRequest& request) {
  remove_leftovers(request.storage);
  make_room(request, original.bytes);
  AtomicDirectory copy(request.storage / original.name);
  std::uint64_t told = 0;
  for (const fs::path& file : original.files)
    copy_file(original.folder / file, copy.path() / file, request, original.bytes, told);
  check_copy(copy.path(), request);
  copy.commit();
}

std::optional<StagedDataset> find_copy(const fs::path& folder) {
  auto lock = FolderLock::take(folder, FolderLock::Kind::use);
  if (!lock) return std::nullopt;
  lock->touch();
  return StagedDataset{folder, std::move(*lock)};
}

StagedDataset find_or_make(const Original& original, const StageRequest& request) {
  const fs::path folder = request.storage / original.name;
  while (true) {
    if (auto found = find_copy(folder)) return std::move(*found);
    FileLock copying;
    const FileLock::Outcome outcome = copying.try_lock(request.storage / copying_lock);
    if (outcome == FileLock::Outcome::unsupported)
      throw environment_error("{} knows no locks", request.storage.string());
    if (outcome == FileLock::Outcome::held) {
      if (!path_exists(folder)) make_copy(original, request);  // another process may have, just now
      if (auto made = find_copy(folder)) return std::move(*made);
    }
    check_not_stopped(request);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

std::optional<FolderLock> FolderLock::take(const fs::path& folder, Kind kind) {
  FolderLock lock;
  lock.descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock.descriptor_ < 0) return std::nullopt;
  const int operation = (kind == Kind::use ? LOCK_SH : LOCK_EX) | LOCK_NB;
  // Where the storage knows no locks on folders, what is used may go, and what is mapped stays all the same.
  const bool is_held =
      ::flock(lock.descriptor_, operation) == 0 || (kind == Kind::use && errno != EWOULDBLOCK);
  if (!is_held || !is_same(lock.descriptor_, folder)) return std::nullopt;
  return lock;
}

FolderLock::FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void FolderLock::touch() const {
  ::futimens(descriptor_, nullptr);
}

StagedDataset stage_dataset(const fs::path& dataset, const StageRequest& request) {
  const Original original = describe_original(dataset);
  try {
    make_folders(request.storage);
    return find_or_make(original, request);
  } catch (const fs::filesystem_error& error) {
    throw system_error(error.code().value(), "use", error.path1().string());
  }
}

}  // namespace dt::data
