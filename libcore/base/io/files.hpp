#pragma once
// Files: reading, writing and locking. Paths in errors appear as the caller gave them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/io/paths.hpp"

namespace dt {

/// The owners whose files a tool accepts under a name.
enum class Owner {
  self,   // the user of this process alone
  anyone  // any user that may write to the folder, because the owner of a run or dataset admits them
};

/// An owned file descriptor with checked calls; every failure is a system_error that names the
/// path. ESTALE means that a file server has replaced the file. Opening and reading then each
/// reopen it once. Reopening on a read requires a File from open_read() or open_nonblocking(), and a
/// path that leads to a regular file.
class File {
 public:
  File() = default;
  /// Opens a regular file. Never waits for the other end of a FIFO.
  /// Errors: input if the path leads to anything else.
  static File open_read(const fs::path& path);
  /// Opens a regular file, a pipe or a device. Opening a pipe does not wait for its writer. read(2)
  /// on it does not wait for bytes; poll(2) does.
  static File open_nonblocking(const fs::path& path);
  /// Creates a regular file for reading and writing. It replaces a regular file that this user left
  /// there.
  /// Errors: environment if anything else has the name.
  static File create(const fs::path& path);
  /// Opens an existing file; opening a pipe waits for its reader.
  /// Errors: as refuse_foreign().
  static File open_write(const fs::path& path);
  /// Opens or creates a regular file. Never waits.
  /// Errors: environment for a symbolic link or anything else that is not a regular file.
  /// Environment, too, for a file with a second name in a folder that is sticky or lets all users
  /// write.
  static File open_append(const fs::path& path);
  /// Takes ownership of an open descriptor.
  static File adopt(int descriptor, fs::path path) { return {descriptor, std::move(path), false}; }
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  const fs::path& path() const { return path_; }
  std::uint64_t size() const;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Reads up to bytes.size() bytes. Returns the count, 0 at the end of the file.
  std::size_t read(std::span<std::byte> bytes);
  /// Reads all of `bytes`.
  /// Errors: input ("is truncated") if the file ends before.
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  void sync();
  /// Closes the file and reports close() errors, which a destructor cannot.
  void close();

 private:
  File(int descriptor, fs::path path, bool reopens);
  bool reopens(int error_number, bool& was_reopened) const;
  int descriptor_ = -1;
  fs::path path_;
  bool reopens_ = false;  // by path; never if opening checked the owner, the folder or links
};

/// Size limit of a file that is parsed as a whole: configs, indexes, tokenizers, manifests,
/// records. The largest tokenizers have some 30 MB, manifests of the largest runs some 100 MB.
/// Parsing takes about ten times as much memory.
inline constexpr std::uint64_t max_parsed_file_bytes = std::uint64_t{512} << 20;
/// Stands for no size limit. Use it for a run's own files, which grow as long as the run lasts.
inline constexpr std::uint64_t no_size_limit = ~std::uint64_t{0};

/// Returns all bytes of a regular file.
/// Errors: as File::open_read(); input if it has more than `max_bytes`.
std::string read_file(const fs::path& path, std::uint64_t max_bytes = max_parsed_file_bytes);
/// Returns all bytes of a regular file or a pipe, such as `--config <(…)`. Waits for a pipe's writer; a stop
/// request ends the wait. Use it for names that the user gave; use read_file() for files found in a folder.
/// Errors: as read_file(); Interrupted.
std::string read_file_or_pipe(const fs::path& path, std::uint64_t max_bytes = max_parsed_file_bytes);

/// Syncs an open file or folder. `shown` is its path in errors.
void sync_descriptor(int descriptor, const fs::path& shown);

/// Creates or overwrites `path` and syncs it, but not its folder. Use it in folders that get their
/// name later.
void write_synced(const fs::path& path, std::string_view content);

/// Opens a device or a pipe for writing; opening a pipe waits for its reader.
/// Errors: environment if it belongs to another user, or is a link that another user made.
File open_device(const fs::path& path);

/// An advisory lock (flock) on a file, held while the object lives. It ends with the process,
/// however that ends. Any process that can open the file can hold the lock. The file is therefore
/// open only to users that may write to its folder.
class FileLock {
 public:
  enum class Outcome { acquired, busy, unsupported };  // unsupported: the file system refuses locks
  FileLock() = default;
  /// Tries an exclusive lock and creates the file if needed. With Owner::self the file must have
  /// one name only.
  /// Errors: environment, also if `owner` does not own the file or it is not a regular file.
  Outcome try_lock(const fs::path& path, Owner owner = Owner::self);
  /// Tries a shared lock on an existing file; read permission suffices.
  /// Errors: as File::open_read().
  Outcome try_lock_shared(const fs::path& path);

 private:
  Outcome lock(File file, int operation);
  File file_;
};

}  // namespace dt
