#include "base/io/mapped_file.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/test_folder.hpp"

using namespace dt;
using dt_test::Folder;

namespace {

constexpr std::size_t page = 4096;

struct End {
  int status;
  std::string err;
};

/// Returns the end of a child that runs `action`.
End end_of(const Folder& folder, const std::function<void()>& action) {
  const fs::path err = folder / "stderr";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    action();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {status, dt_test::content(err)};
}

int byte_at(std::span<const std::byte> bytes, std::size_t index) {
  return static_cast<int>(static_cast<const volatile std::byte*>(bytes.data())[index]);
}

void cut(const fs::path& path) {
  if (::truncate(path.c_str(), 0) != 0) _exit(77);
}

fs::path put_pages(const Folder& folder, const std::string& name) {
  dt_test::put(folder / name, std::string(4 * page, 'x'));
  return folder / name;
}

}  // namespace

TEST_CASE("a mapped file is its bytes") {
  const Folder folder;
  dt_test::put(folder / "a", "some bytes");
  const MappedFile file(folder / "a");
  REQUIRE(file.bytes().size() == 10);
  CHECK(byte_at(file.bytes(), 5) == 'b');
  file.will_need(file.bytes().subspan(5, 2));
  CHECK(dt_test::caught([&] { MappedFile(folder / "none"); }).kind == ErrorKind::input);
}

TEST_CASE("a mapped file that is cut ends the process as an input or output error does, naming the file") {
  const Folder folder;
  const fs::path first = put_pages(folder, "first"), second = put_pages(folder, "second");
  const End end = end_of(folder, [&] {
    const MappedFile file(first), other(second);
    std::optional<MappedFile> third(first);
    third.reset();
    const MappedFile fourth(first);  // takes the third's place
    cut(second);
    byte_at(file.bytes(), 3 * page);
    byte_at(other.bytes(), 3 * page);
  });
  REQUIRE(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == static_cast<int>(ErrorKind::environment));
  CHECK(end.err.ends_with(
      ": error: " + second.string() + " on " + host_name() +
      ": can no longer be read (SIGBUS): the file was truncated, or its file system is gone\n"));
}

TEST_CASE("other bus errors are what they were") {
  const Folder folder;
  const fs::path path = put_pages(folder, "a"), other = put_pages(folder, "b");
  const auto check_killed = [&](const std::function<void()>& action) {
    const End end = end_of(folder, [&] {
      const MappedFile file(path);
      action();
    });
    REQUIRE(WIFSIGNALED(end.status));
    CHECK(WTERMSIG(end.status) == SIGBUS);
    CHECK(end.err.empty());
  };
  check_killed([] { kill(getpid(), SIGBUS); });
  check_killed([&] {
    const File file = File::open_read(other);
    void* const memory = mmap(nullptr, 4 * page, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    cut(other);
    byte_at({static_cast<const std::byte*>(memory), 4 * page}, page);
  });
}
