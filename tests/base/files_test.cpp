#include "base/io/files.hpp"

#include <catch2/catch.hpp>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>

#include "base/io/owned_folder.hpp"
#include "base/system/signals.hpp"
#include "base/test_folder.hpp"

using namespace dt;
using dt_test::caught;
using dt_test::content;
using dt_test::Folder;
using dt_test::put;

TEST_CASE("a file is written, appended to and read back") {
  const Folder folder;
  File file = File::create(folder / "a");
  file.write("hello");
  file.write_at(1, std::as_bytes(std::span("EL", 2)));
  file.sync();
  file.close();
  CHECK_FALSE(file.is_open());
  File::open_append(folder / "a").write("!");
  CHECK(read_file(folder / "a") == "hELlo!");
  CHECK(File::open_read(folder / "a").size() == 6);
}

TEST_CASE("reading past the end gives what there is, and read_at says truncated") {
  const Folder folder;
  put(folder / "a", "12345");
  File file = File::open_read(folder / "a");
  std::array<std::byte, 8> buffer{};
  CHECK(file.read(buffer) == 5);
  CHECK(file.read(buffer) == 0);
  const auto error = caught([&] { file.read_at(1, buffer); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says((folder / "a").string() + " is truncated"));
  CHECK(error.says("ends at byte 5"));
}

TEST_CASE("files without a size are read whole") {
  CHECK(read_file("/proc/self/status").find("Pid:") != std::string::npos);
  const Folder folder;
  put(folder / "empty", "");
  CHECK(read_file(folder / "empty").empty());
}

TEST_CASE("what is no regular file is refused without waiting") {
  const Folder folder;
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  fs::create_symlink("fifo", folder / "link");
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder / "socket").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  const std::vector<std::pair<fs::path, std::string>> special = {{folder / "fifo", "is a FIFO"},
                                                                 {folder / "link", "is a FIFO"},
                                                                 {folder / "socket", "is a socket"},
                                                                 {"/dev/zero", "is a character device"}};
  for (const auto& [path, kind] : special) {
    CAPTURE(path);
    const auto check = [&, &path = path, &kind = kind](auto open) {
      const auto error = caught(open);
      CHECK(error.kind == ErrorKind::input);
      CHECK(error.says(path.string() + " " + kind));
      CHECK(error.says("expected a regular file"));
    };
    check([&] { File::open_read(path); });
    check([&] { read_file(path); });
    CHECK(caught([&] { File::open_append(path); }).kind == ErrorKind::environment);
    CHECK(caught([&] { FileLock().try_lock(path); }).kind == ErrorKind::environment);
  }
  ::close(listener);
}

TEST_CASE("a parsed file has a bounded size") {
  const Folder folder;
  put(folder / "a.json", "12345");
  CHECK(read_file(folder / "a.json", 5) == "12345");
  const auto error = caught([&] { read_file(folder / "a.json", 4); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("a.json is 5 B or larger"));
  CHECK(error.says("at most 4 B"));
  put(folder / "sparse", "");
  fs::resize_file(folder / "sparse", std::uint64_t{1} << 40);
  CHECK(caught([&] { read_file(folder / "sparse"); }).says("1.0 TiB"));
  CHECK(caught([&] { read_file("/proc/self/status", 10); }).kind == ErrorKind::input);  // it tells no size
}

TEST_CASE("opening what is not a readable file names the path") {
  const Folder folder;
  const auto missing = caught([&] { File::open_read(folder / "none"); });
  CHECK(missing.kind == ErrorKind::input);
  CHECK(missing.message ==
        "cannot open " + (folder / "none").string() + ": No such file or directory; check the path");
  const auto is_folder = caught([&] { read_file(folder.path()); });
  CHECK(is_folder.kind == ErrorKind::input);
  CHECK(is_folder.says("Is a directory"));
  CHECK(caught([&] { File::create(folder / "no" / "file"); }).kind == ErrorKind::environment);
}

TEST_CASE("a full disk is an environment error with a remedy") {
  File full = File::open_write("/dev/full");
  const auto error = caught([&] { full.write("x"); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("No space left on device; the file system is full"));
}

TEST_CASE("a file-size limit is an environment error") {
  const Folder folder;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    File file = File::create(folder / "a");
    const auto error = caught([&] { file.write(std::string(5000, 'x')); });
    _exit(error.kind == ErrorKind::environment && error.says("ulimit -f") ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a file moves with its descriptor") {
  const Folder folder;
  File a = File::create(folder / "a");
  File b = std::move(a);
  CHECK_FALSE(a.is_open());
  b.write("x");
  b = File();
  CHECK(content(folder / "a") == "x");
}

TEST_CASE("one holder at a time has a lock") {
  const Folder folder;
  FileLock first;
  REQUIRE(first.try_lock(folder / "lock") == FileLock::Outcome::acquired);
  FileLock second;
  CHECK(second.try_lock(folder / "lock") == FileLock::Outcome::busy);
  first = FileLock();
  CHECK(second.try_lock(folder / "lock") == FileLock::Outcome::acquired);
}

TEST_CASE("a pipe that the user named is read to its end, within a bound") {
  const Folder folder;
  const fs::path pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string text(200000, 'a');
  const auto read_what_is_written = [&](std::uint64_t max_bytes) {
    std::thread writer([&] {
      try {
        File::open_write(pipe).write(text);
      } catch (const Error&) {  // the reader has gone
      }
    });
    std::string result = "refused";
    const auto error = caught([&] { result = read_file_or_pipe(pipe, max_bytes); });
    writer.join();
    CHECK(error.thrown == (max_bytes < text.size()));
    return result;
  };
  CHECK(read_what_is_written(text.size()) == text);
  ::signal(SIGPIPE, SIG_IGN);
  CHECK(read_what_is_written(1000) == "refused");
  CHECK(caught([&] { read_file(pipe); }).says("is a FIFO"));
  put(folder / "file", "b");
  CHECK(read_file_or_pipe(folder / "file") == "b");
}

TEST_CASE("a request to stop ends the wait for a pipe's writer") {
  const Folder folder;
  const fs::path pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    block_stop_signals();
    ::kill(::getpid(), SIGTERM);
    try {
      read_file_or_pipe(pipe);
    } catch (const Interrupted& interrupted) {
      ::_exit(interrupted.exit_code());
    }
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 128 + SIGTERM);
}

namespace {

/// Makes pread(2) fail in the calling thread from now on, as for a file that its server has replaced.
bool make_reads_stale() {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ESTALE),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Returns whether a read that finds the file stale reopens the path and reads the file that is there by
/// then.
bool is_opened_anew(File file, const std::function<void(const fs::path& path)>& replace) {
  struct stat before {
  }, after{};
  REQUIRE(::fstat(file.descriptor(), &before) == 0);
  fs::rename(file.path(), file.path().string() + ".old");
  replace(file.path());
  int error_number = 0;
  bool is_stale = false;
  std::thread reader([&] {
    is_stale = make_reads_stale();
    try {
      std::byte byte{};
      file.read_at(0, {&byte, 1});
    } catch (const Error& error) {
      error_number = error.error_number();
    }
  });
  reader.join();
  REQUIRE(is_stale);
  CHECK(error_number == ESTALE);
  REQUIRE(::fstat(file.descriptor(), &after) == 0);
  return before.st_ino != after.st_ino;
}

}  // namespace

TEST_CASE("a stale file is opened anew where its path leads to a regular file, and was all that counted") {
  const Folder folder;
  const auto put_file = [](const fs::path& path) { put(path, "new"); };
  const auto put_pipe = [](const fs::path& path) { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); };
  for (const char* name : {"a", "b", "c"}) put(folder / name, "old");
  CHECK(is_opened_anew(File::open_read(folder / "a"), put_file));
  CHECK_FALSE(is_opened_anew(File::open_read(folder / "b"), put_pipe));
  CHECK_FALSE(is_opened_anew(OwnedFolder::open(folder.path()).open_read("c"), put_file));
}
