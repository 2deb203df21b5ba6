#include "data/read/staging.hpp"

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

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/owned_folder.hpp"
#include "base/io/permissions.hpp"
#include "base/numeric/digest.hpp"
#include "base/text/text.hpp"
#include "data/read/dataset_file.hpp"
#include "data/read/verify_dataset.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

namespace {

constexpr std::string_view own_folder_prefix = "dt-staged-";
constexpr std::string_view prefix = "dt-dataset-";
constexpr std::size_t digest_digits = 16;
constexpr const char* copying_lock = "dt-stage.lock";
constexpr std::size_t buffer_bytes = std::size_t{4} << 20;
constexpr auto pause = std::chrono::milliseconds(50);

Error in_the_way_error(const fs::path& path, const std::string& why) {
  return Error(ErrorKind::environment, fmt::format("{} {}", path.string(), why),
               "delete it, or use another --stage-dir");
}

/// Returns the path's status without following links, or none if nothing has the name.
std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return status;
  if (errno == ENOENT) return std::nullopt;
  throw system_error(errno, "stat", path.string());
}

/// Returns the user's own folder in the storage. Makes it if it is missing.
OwnedFolder take_own_folder(const fs::path& storage) {
  make_private_storage(storage);
  return OwnedFolder::open_or_create(storage / (std::string(own_folder_prefix) + std::to_string(::geteuid())),
                                     0700);
}

/// Returns whether the path still names the open folder, and it is the user's own. It may have been
/// renamed before it was locked.
bool is_same(int descriptor, const fs::path& folder) {
  struct stat held {
  }, named{};
  return ::fstat(descriptor, &held) == 0 && ::lstat(folder.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino && is_own(held.st_uid, descriptor);
}

bool is_copy_name(const std::string& name) {
  return name.size() == prefix.size() + digest_digits && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == name.npos;
}

/// Returns the files of a dataset to copy, dataset.json last.
std::vector<fs::path> files_of(const fs::path& dataset) {
  std::vector<fs::path> files;
  for (const ShardEntry& shard : read_dataset_file(dataset).shards) files.emplace_back(shard.file);
  if (path_exists(dataset / tokenizer_file_name)) files.emplace_back(tokenizer_file_name);
  files.emplace_back(dataset_file_name);
  return files;
}

struct CopiedFile {
  fs::path name;
  std::uint64_t bytes = 0;
};

struct Original {
  fs::path folder;
  std::string dataset_file;  // text of dataset.json
  std::vector<CopiedFile> files;
  std::uint64_t bytes = 0;
  std::string name;  // name of its copy
};

Original describe_original(const fs::path& dataset) {
  const std::vector<fs::path> files = files_of(dataset);
  Original original{dataset, read_file(dataset / dataset_file_name), {}, 0, {}};
  std::string identity = original.dataset_file;
  for (const fs::path& file : files) {
    struct stat status {};
    const fs::path path = dataset / file;
    if (::stat(path.c_str(), &status) != 0) throw system_error(errno, "stat", path.string());
    original.files.push_back({file, static_cast<std::uint64_t>(status.st_size)});
    original.bytes += original.files.back().bytes;
    identity += fmt::format("\n{} {} {}.{:09}", file.string(), status.st_size, status.st_mtim.tv_sec,
                            status.st_mtim.tv_nsec);
  }
  original.name = std::string(prefix) + to_hex(digest(identity));
  return original;
}

struct Copy {
  fs::path folder;
  std::uint64_t bytes = 0;
  fs::file_time_type used;
};

std::uint64_t bytes_under(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const fs::path& path : entries_of(folder)) {
    if (const auto status = status_of(path)) bytes += static_cast<std::uint64_t>(status->st_size);
  }
  return bytes;
}

/// Returns the copies, least recently used first.
std::vector<Copy> copies_in(const OwnedFolder& own) {
  std::vector<Copy> copies;
  for (const std::string& name : own.names()) {
    const fs::path path = own.path() / name;
    const auto status = is_copy_name(name) ? status_of(path) : std::nullopt;
    if (!status || !S_ISDIR(status->st_mode) || !is_own(status->st_uid, own.descriptor())) continue;
    copies.push_back({path, bytes_under(path), fs::last_write_time(path)});
  }
  std::ranges::sort(copies, {}, &Copy::used);
  return copies;
}

/// Removes what killed copies and removals left. The caller must hold the lock on copying.
void remove_leftovers(const OwnedFolder& own) {
  for (const std::string& name : own.names()) {
    if (name.starts_with("." + std::string(prefix))) own.remove_tree(name);
  }
}

/// A copy that no process uses. None can use it while the object lives.
struct UnusedCopy {
  fs::path folder;
  FolderLock lock;
};

void remove_copy(const OwnedFolder& own, const UnusedCopy& copy) {
  const std::string name = copy.folder.filename(), removed = "." + name + ".removed";
  own.rename(name, removed);  // other processes no longer find it
  own.remove_tree(removed);
}

struct Room {
  std::uint64_t limit;
  std::uint64_t taken = 0;  // by copies
  std::uint64_t free;

  bool holds(std::uint64_t bytes) const { return bytes <= limit && taken <= limit - bytes && bytes <= free; }
};

Error no_room_error(const StageRequest& request, const Room& room, std::uint64_t bytes) {
  return environment_error(
      "{} has no space for {}, even without the dataset copies that no process uses: {} would be free, and "
      "other copies use {}{}",
      request.storage.string(), format_bytes(bytes), format_bytes(room.free), format_bytes(room.taken),
      request.limit_bytes ? fmt::format(" of at most {}", format_bytes(room.limit)) : "");
}

/// Removes copies to make space, or none if that would not suffice.
void make_room(const OwnedFolder& own, const StageRequest& request, std::uint64_t bytes) {
  const std::vector<Copy> copies = copies_in(own);
  Room room{.limit = request.limit_bytes.value_or(UINT64_MAX), .free = fs::space(own.path()).available};
  for (const Copy& copy : copies) room.taken += copy.bytes;
  std::vector<UnusedCopy> unused;
  for (const Copy& copy : copies) {
    if (room.holds(bytes)) break;
    auto lock = FolderLock::acquire(copy.folder, FolderLock::Kind::alone);
    if (!lock) continue;
    unused.push_back({copy.folder, std::move(*lock)});
    room.taken -= copy.bytes;
    room.free += copy.bytes;
  }
  if (!room.holds(bytes)) throw no_room_error(request, room, bytes);
  for (const UnusedCopy& copy : unused) remove_copy(own, copy);
}

void check_not_stopped(const StageRequest& request) {
  if (request.stop && request.stop()) throw environment_error("copying was stopped on request");
}

/// Makes copies in the user's folder. The caller holds the lock on copying. The lock file's time of
/// change shows progress to processes that wait for the lock.
class Copying {
 public:
  Copying(const Original& original, const OwnedFolder& own, const StageRequest& request)
      : original_(original), own_(own), request_(request) {}

  void make() {
    remove_leftovers(own_);
    make_room(own_, request_, original_.bytes);
    AtomicDirectory copy(own_.path() / original_.name);
    for (const CopiedFile& file : original_.files)
      copy_file(original_.folder / file.name, copy.path() / file.name);
    check(copy.path());
    copy.commit();
  }

 private:
  void get_on() const {
    check_not_stopped(request_);
    ::utimensat(own_.descriptor(), copying_lock, nullptr, AT_SYMLINK_NOFOLLOW);
  }

  void copy_file(const fs::path& from, const fs::path& to) {
    File source = File::open_read(from), target = File::create(to);
    while (const std::size_t count = source.read(buffer_)) {
      get_on();
      target.write(std::span(buffer_).first(count));
      done_ += count;
      if (request_.progress) request_.progress(done_, original_.bytes);
    }
    target.close();
  }

  void check(const fs::path& folder) const {
    const auto problems = verify_dataset(folder, [&](std::uint64_t, std::uint64_t) { get_on(); });
    if (!problems.empty() && problems.front().is_unreadable)
      throw environment_error("the new copy cannot be read: {}", problems.front().what);
    if (!problems.empty())
      throw input_error("the new copy does not match the dataset's digests: {}", problems.front().what);
  }

  const Original& original_;
  const OwnedFolder& own_;
  const StageRequest& request_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(buffer_bytes);
  std::uint64_t done_ = 0;
};

/// Waits in short pauses for another copying process, as long as it makes progress.
class Waiting {
 public:
  Waiting(const OwnedFolder& own, const StageRequest& request) : own_(own), request_(request) {}

  void pause() {
    check_not_stopped(request_);
    if (const auto now = changed(); now != last_change_) {
      last_change_ = now;
      since_ = std::chrono::steady_clock::now();
    }
    if (std::chrono::steady_clock::now() - since_ > request_.patience)
      throw Error(ErrorKind::environment,
                  fmt::format("another of your processes has held {} for {} s without copying anything",
                              (own_.path() / copying_lock).string(),
                              std::chrono::duration_cast<std::chrono::seconds>(request_.patience).count()),
                  "find the stuck process (fuser) and stop it");
    std::this_thread::sleep_for(data::pause);
  }

 private:
  std::pair<std::int64_t, std::int64_t> changed() const {
    const auto status = status_of(own_.path() / copying_lock);
    return status ? std::pair<std::int64_t, std::int64_t>{status->st_mtim.tv_sec, status->st_mtim.tv_nsec}
                  : std::pair<std::int64_t, std::int64_t>{};
  }

  const OwnedFolder& own_;
  const StageRequest& request_;
  std::pair<std::int64_t, std::int64_t> last_change_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// Returns whether a copy has all files of its original, with their sizes, and the same
/// dataset.json. The remaining content is checked against that on first use.
bool is_whole(const OwnedFolder& own, const fs::path& folder, const Original& original) {
  for (const CopiedFile& file : original.files) {
    const auto status = status_of(folder / file.name);
    if (!status || !S_ISREG(status->st_mode) || !is_own(status->st_uid, own.descriptor()) ||
        static_cast<std::uint64_t>(status->st_size) != file.bytes)
      return false;
  }
  return read_file(folder / dataset_file_name) == original.dataset_file;
}

std::optional<StagedDataset> find_copy(const OwnedFolder& own, const Original& original) {
  const fs::path folder = own.path() / original.name;
  auto lock = FolderLock::acquire(folder, FolderLock::Kind::use);
  if (!lock || !is_whole(own, folder, original)) return std::nullopt;
  lock->touch();
  return StagedDataset{folder, std::move(*lock)};
}

/// Removes a broken copy. The caller must hold the lock on copying.
void remove_broken(const OwnedFolder& own, const fs::path& folder) {
  if (!status_of(folder)) return;
  auto lock = FolderLock::acquire(folder, FolderLock::Kind::alone);
  if (!lock)
    throw in_the_way_error(folder, "is not the expected dataset copy, and is in use or not owned by you");
  remove_copy(own, {folder, std::move(*lock)});
}

StagedDataset find_or_make(const Original& original, const StageRequest& request) {
  const OwnedFolder own = take_own_folder(request.storage);
  const fs::path folder = own.path() / original.name;
  Waiting waiting(own, request);
  while (true) {
    if (auto found = find_copy(own, original)) return std::move(*found);
    FileLock lock;
    const FileLock::Outcome outcome = lock.try_lock(own.path() / copying_lock);
    if (outcome == FileLock::Outcome::unsupported)
      throw environment_error("the file system of {} does not support file locks", own.path().string());
    if (outcome == FileLock::Outcome::acquired) {
      // Another process may have made the copy just now.
      if (auto made = find_copy(own, original)) return std::move(*made);
      remove_broken(own, folder);
      Copying(original, own, request).make();
      if (auto made = find_copy(own, original)) return std::move(*made);
      throw in_the_way_error(folder, "does not contain the copy that was just made");
    }
    waiting.pause();
  }
}

}  // namespace

std::optional<FolderLock> FolderLock::acquire(const fs::path& folder, Kind kind) {
  FolderLock lock;
  lock.descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (lock.descriptor_ < 0) return std::nullopt;
  const int operation = (kind == Kind::use ? LOCK_SH : LOCK_EX) | LOCK_NB;
  // On storage without locks on folders, another process may remove a copy in use. Mapped files
  // stay readable.
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
    return find_or_make(original, request);
  } catch (const fs::filesystem_error& error) {
    throw system_error(error.code().value(), "use", error.path1().string());
  }
}

bool discard_copy(const fs::path& copy) {
  std::error_code ignored;
  return fs::remove(copy / dataset_file_name, ignored);
}

}  // namespace dt::data
