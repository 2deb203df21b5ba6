#include "base/error.hpp"

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

#include "base/test_folder.hpp"

using namespace dt;
using dt_test::caught;

TEST_CASE("an error's exit code is its kind") {
  CHECK(usage_error("x").exit_code() == 2);
  CHECK(input_error("x").exit_code() == 3);
  CHECK(environment_error("x").exit_code() == 4);
  CHECK(Error(ErrorKind::verification, "x").exit_code() == 5);
  CHECK(exit_requeue == 75);
}

TEST_CASE("an error's message joins what happened and what to do") {
  CHECK(Error(ErrorKind::input, "a.h5 is truncated", "copy it again").message() ==
        "a.h5 is truncated; copy it again");
  CHECK(input_error("{} has {} rows", "x", 3).message() == "x has 3 rows");
}

TEST_CASE("a missing file is bad input to a reader and an environment error to a writer") {
  CHECK(system_error(ENOENT, "open", "a").kind() == ErrorKind::input);
  CHECK(system_error(EISDIR, "read", "a").kind() == ErrorKind::input);
  CHECK(system_error(EACCES, "open", "a").kind() == ErrorKind::environment);
  CHECK(system_error(EPERM, "read", "a").kind() == ErrorKind::environment);
  CHECK(system_error(ENOENT, "create", "a").kind() == ErrorKind::environment);
  CHECK(system_error(EACCES, "open for writing", "a").kind() == ErrorKind::environment);
  CHECK(system_error(EIO, "read", "a").kind() == ErrorKind::environment);
  CHECK(system_error(EMFILE, "open", "a").kind() == ErrorKind::environment);
}

TEST_CASE("a failed system call names the object, the reason and a remedy") {
  CHECK(system_error(ENOSPC, "write", "/x/y").message() ==
        "cannot write /x/y: No space left on device; the file system is full: free space there or choose "
        "another place");
  for (const int number : {EDQUOT, EROFS, EACCES, ENOENT, EFBIG, ENAMETOOLONG, EMFILE}) {
    CHECK_FALSE(system_error(number, "create", "x").context().empty());
  }
}

TEST_CASE("an exception means what failed: the system, memory, or dt") {
  const auto meaning = [](const auto& exception) {
    try {
      throw exception;
    } catch (...) {
      return current_error();
    }
  };
  const auto number = [](int n) { return std::error_code(n, std::generic_category()); };
  const Error thread = meaning(std::system_error(number(EAGAIN)));  // std::thread throws this
  CHECK(thread.kind() == ErrorKind::environment);
  CHECK(thread.message().find("ulimit -u") != std::string::npos);
  const Error denied = meaning(std::filesystem::filesystem_error("x", "a", number(EACCES)));
  CHECK(denied.kind() == ErrorKind::environment);
  CHECK(denied.error_number() == EACCES);
  CHECK(meaning(std::bad_alloc()).kind() == ErrorKind::environment);
  CHECK(meaning(std::logic_error("x")).kind() == ErrorKind::internal);
  CHECK(meaning(system_error(ESTALE, "read", "a")).error_number() == ESTALE);
}

TEST_CASE("a failed check is an internal error that says where it is") {
  const auto error = caught([] { DT_CHECK(1 + 1 == 3, "{} is not {}", 2, 3); });
  CHECK(error.kind == ErrorKind::internal);
  CHECK(error.says("2 is not 3"));
  CHECK(error.says("1 + 1 == 3"));
  CHECK(error.says("error_test.cpp:"));
  CHECK_FALSE(caught([] { DT_CHECK(true, "never formatted"); }).thrown);
}

TEST_CASE("a NUL in a name does not cut a message short") {
  const Error error(ErrorKind::input, std::string("member 'a\0b' is missing", 23), "make it");
  CHECK(std::string(error.what()) == "member 'a\\u0000b' is missing");
  CHECK(error.message() == "member 'a\\u0000b' is missing; make it");
}
