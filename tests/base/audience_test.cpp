#include <catch2/catch.hpp>
#include <unistd.h>

#include "base/io/permissions.hpp"
#include "base/test_folder.hpp"

using namespace dt;

namespace {

struct Files : dt_test::Folder {
  /// Makes a file, or a folder if the name ends in /, and returns its audience.
  ReadAccess of(const std::string& name, mode_t mode) const {
    const fs::path path = *this / name;
    if (name.back() == '/') {
      fs::create_directory(path);
    } else {
      dt_test::put(path, "x");
    }
    ::chmod(path.c_str(), mode);
    return ReadAccess::of(path);
  }
};

const gid_t own = ::getegid(), other = own + 1;

}  // namespace

TEST_CASE("a copy has at most the readers of its original") {
  const Files files;
  CHECK(files.of("a", 0644).restricted_mode(0666, own) == 0666);
  CHECK(files.of("a", 0640).restricted_mode(0666, own) == 0660);
  CHECK(files.of("a", 0640).restricted_mode(0666, other) == 0600);
  CHECK(files.of("a", 0600).restricted_mode(0666, own) == 0600);
  CHECK(files.of("a", 0604).restricted_mode(0666, own) == 0600);  // the group has no access
  CHECK(files.of("b/", 0755).restricted_mode(0777, own) == 0777);
  CHECK(files.of("b/", 0711).restricted_mode(0777, own) == 0777);
  CHECK(files.of("b/", 0750).restricted_mode(0777, own) == 0770);
  CHECK(files.of("b/", 0744).restricted_mode(0777, own) == 0700);
  CHECK(files.of("b/", 0700).restricted_mode(02777, own) == 02700);
  CHECK(ReadAccess::of("/dev/null").restricted_mode(0666, own) == 0666);
}

TEST_CASE("a copy of several originals has the readers of all of them") {
  const Files files;
  const ReadAccess everybody = files.of("a", 0644), group = files.of("a", 0640), nobody = files.of("a", 0600);
  CHECK((ReadAccess(everybody) &= group).restricted_mode(0666, own) == 0660);
  CHECK((ReadAccess(group) &= everybody).restricted_mode(0666, own) == 0660);
  CHECK((ReadAccess(group) &= group).restricted_mode(0666, own) == 0660);
  CHECK((ReadAccess(group) &= nobody).restricted_mode(0666, own) == 0600);
  CHECK((ReadAccess(nobody) &= everybody).restricted_mode(0666, own) == 0600);
}

TEST_CASE("a file is read by those who may enter its folder") {
  const Files files;
  files.of("b/", 0700);
  files.of("b/a", 0644);
  CHECK(ReadAccess::of_file(files / "b/a").restricted_mode(0666, own) == 0600);
}

TEST_CASE("readers are taken from files and folders, and never given") {
  const Files files;
  const ReadAccess group = files.of("original", 0640);
  const auto limited = [&](const std::string& name, mode_t mode) {
    files.of(name, mode);
    restrict_readers(files / name, group);
    struct stat status {};
    ::stat((files / name).c_str(), &status);
    return status.st_mode & 07777U;
  };
  CHECK(limited("a", 0644) == 0640);
  CHECK(limited("a", 0600) == 0600);
  CHECK(limited("b/", 0755) == 0750);
}
