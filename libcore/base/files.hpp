#pragma once
// Files that are whole under their final name or not there at all. All paths in errors are as given.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

namespace fs = std::filesystem;

class OwnFolder;

/// Says whose files a tool accepts under a name.
enum class Owner {
  self,   // the user of this process alone
  anyone  // whoever may write to the folder: it is a run's or a dataset's, and its user lets them
};

/// Whether something has the name, links followed. Errors: environment, where that cannot be found out: what
/// may not be looked at must never pass for what is not there.
bool path_exists(const fs::path& path);
/// The same of a folder, and of a regular file.
bool folder_exists(const fs::path& path);
bool file_exists(const fs::path& path);
/// What is in a folder, in no order; nothing where there is no such folder. Errors: of path_exists.
std::vector<fs::path> entries_of(const fs::path& folder);

/// An owned file descriptor with checked calls; every failure is a system_error naming the path. A file that
/// its server has replaced (ESTALE) is opened anew once when it is opened, and when it is read where
/// open_read() or open_unblocked() opened it and its path leads to a regular file.
class File {
 public:
  File() = default;
  /// Opens a regular file. Never waits for the other end of a FIFO. Errors: input, where the path leads to
  /// anything else.
  static File open_read(const fs::path& path);
  /// Opens a regular file, a pipe or a device. A pipe neither waits for its writer, nor in read(2) for bytes:
  /// poll(2) does.
  static File open_unblocked(const fs::path& path);
  /// Makes a regular file anew, for reading and writing, in place of one that this user left there. Anything
  /// else of that name is refused: Error{environment}.
  static File create(const fs::path& path);
  /// Opens an existing file; a pipe waits for its reader. Refuses what refuse_foreign() refuses.
  static File open_write(const fs::path& path);
  /// Opens or makes a regular file; a symbolic link and anything else are refused: Error{environment}. So is
  /// a file with a second name where its folder is sticky or lets everybody write. Never waits.
  static File open_append(const fs::path& path);
  /// Takes over an open descriptor.
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
  /// Reads up to bytes.size(); returns the count, 0 at the end.
  std::size_t read(std::span<std::byte> bytes);
  /// Reads all of `bytes` or throws Error{input}: "is truncated".
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  void sync();
  /// Closes and reports what close() reports (a destructor cannot).
  void close();

 private:
  File(int descriptor, fs::path path, bool reopens);
  bool reopens(int error_number, bool& was_reopened) const;
  int descriptor_ = -1;
  fs::path path_;
  bool reopens_ = false;  // by path: never where opening checked the owner, the folder or links
};

/// The most that is read of a file which is parsed as a whole: configs, indexes, tokenizers, manifests,
/// records. The largest tokenizers have some 30 MB, manifests of the largest runs some 100; parsing takes
/// about ten times as much memory.
inline constexpr std::uint64_t max_parsed_file_bytes = std::uint64_t{512} << 20;
/// For files of the run's own that grow as long as it lasts.
inline constexpr std::uint64_t any_number_of_bytes = ~std::uint64_t{0};

/// All bytes of a regular file. Errors: of File::open_read; input, where it has more than `max_bytes`.
std::string read_file(const fs::path& path, std::uint64_t max_bytes = max_parsed_file_bytes);
/// "runs/a/" names what "runs/a" names.
fs::path without_slash(const fs::path& path);
void sync_directory(const fs::path& path);
/// The same of an open file or folder. `shown` is its path, for errors.
void sync_descriptor(int descriptor, const fs::path& shown);

/// Makes a folder and those above it that are missing, and syncs each new name, so that no crash loses it
/// after this returns. Where it exists already, nothing is done.
void make_folders(const fs::path& path);

/// Removes a folder with everything in it, or a file. Goes on with the rest where an entry cannot be removed
/// (an NFS client's .nfs file, a mount, what belongs to neither this user nor the owner of `path`). Follows
/// no symbolic link. Returns "" or the first such entry and why it stays. An entry that is gone already is no
/// failure.
std::string remove_tree(const fs::path& path);

/// Creates or overwrites `path` and syncs it, but not its folder: for folders that get their name later.
void write_synced(const fs::path& path, std::string_view content);

/// Writes a temporary sibling, syncs, renames over `path`, syncs the folder. A crash leaves the old file or
/// the new one. A device or a pipe is written to, never replaced.
void write_file_atomically(const fs::path& path, std::string_view content);

/// Creates `path` with all of `content` at once; false where it exists already. A crash leaves the whole file
/// or none.
bool create_file_exclusively(const fs::path& path, std::string_view content);

/// A folder that appears under its final name only when whole: made as a hidden temporary sibling, filled by
/// the caller under path(), then commit() syncs it and everything in it and renames it. The destructor
/// removes what was not committed. A crash leaves at most the temporary sibling ".<name>.tmp-<host>-<pid>".
/// All of it happens relative to the folder that the path leads to at first. Whatever another user has put in
/// the way is neither followed nor removed: Error{environment}.
///
/// Overwriting exchanges the two. Some network file systems cannot: there the old folder becomes
/// ".<name>.replaced" for the moment until the new one has the name, and a crash in it leaves neither under
/// the name. restore_replaced() gives it back; so does making another AtomicDirectory for the same path.
class AtomicDirectory {
 public:
  explicit AtomicDirectory(fs::path final_path);
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  const fs::path& path() const;
  const OwnFolder& folder() const { return *folder_; }
  /// Where the final path exists: with `overwrite` it is moved aside and removed, else Error{input}.
  void commit(bool overwrite = false);

  /// One whose sibling is ".<name>.partial", as an earlier one left it, and stays where it is not committed.
  static AtomicDirectory partial(fs::path final_path);
  /// After all it does not.
  void remove_at_end() { stays_ = false; }

 private:
  AtomicDirectory(fs::path final_path, bool stays);
  fs::path final_path_;
  File parent_;  // of both names
  std::unique_ptr<OwnFolder> folder_;
  bool stays_ = false;
  bool committed_ = false;
};

inline constexpr const char* replaced_suffix = ".replaced";
inline constexpr const char* partial_suffix = ".partial";
/// ".<name>.partial" beside it.
fs::path partial_path(const fs::path& final_path);

/// Gives a folder back its name where an overwriting died between the old one and the new; false where there
/// is nothing to do, and where what lies there is another user's. The overwriting, if it lives after all,
/// then fails and the old folder stays. Errors: environment.
bool restore_replaced(const fs::path& final_path);

/// The same for one file; the caller writes to what open() gives. A device, a pipe or a socket of that name
/// is refused: Error{environment}.
class AtomicFile {
 public:
  explicit AtomicFile(fs::path final_path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  /// Returns the temporary file's path, which ends in the final name's extension.
  const fs::path& path() const { return temporary_path_; }
  /// Opens the temporary file, whatever has its name by now, for reading and writing.
  File open() const;
  void commit(bool overwrite = false);
  /// Commits unless the final path exists; false where it does. Of several that commit one name at once, one
  /// succeeds.
  bool commit_new();

 private:
  void sync();
  fs::path final_path_;
  File parent_;  // of both names
  fs::path temporary_path_;
  File file_;
  bool committed_ = false;
};

/// An advisory lock (flock) on a file, held while the object lives; it ends with the process, however that
/// ends. Whoever can open the file can hold it, so it is made for those alone who may write to its folder.
class FileLock {
 public:
  enum class Outcome { held, busy, unsupported };  // unsupported: the file system refuses locks
  FileLock() = default;
  /// Errors: environment, also where `owner` does not own the file, or it is no regular file. With
  /// Owner::self it must have one name.
  Outcome try_lock(const fs::path& path, Owner owner = Owner::self);
  /// Tries a shared lock on a file that is there, which this user needs only be able to read. Errors: of
  /// File::open_read.
  Outcome try_lock_shared(const fs::path& path);

 private:
  Outcome lock(File file, int operation);
  File file_;
};

}  // namespace dt
