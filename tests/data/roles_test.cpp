#include <catch2/catch.hpp>

#include "base/test_folder.hpp"
#include "data/build/input_findings.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;

namespace {

SeenRoles met(const std::vector<std::string>& learned, const std::vector<std::string>& others) {
  SeenRoles roles;
  for (const std::string& role : learned) roles.add(role, true);
  for (const std::string& role : others) roles.add(role, false);
  return roles;
}

}  // namespace

TEST_CASE("a role that is to be learned and was not met is named, with those that were") {
  check_all_met({}, met({}, {"user"}));
  check_all_met({"bot", "tool"}, met({"tool", "bot"}, {"user"}));
  auto error = caught([] { check_all_met({"bto", "tool"}, met({"tool"}, {"user", "bot"})); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(
      error.says("--loss-on bto: no conversation has a turn with that role; the conversations have these "
                 "roles: bot, tool, user"));
  error = caught([] { check_all_met({"a", "b"}, met({}, {"user"})); });
  CHECK(error.says("--loss-on a,b: no conversation has a turn with any of these roles"));
}

TEST_CASE("of roles that are not learned a few are kept, the same in any order") {
  SeenRoles forth, back;
  for (int i = 0; i < 100; ++i) {
    forth += met({}, {fmt::format("role{:02}", i)});
    back += met({}, {fmt::format("role{:02}", 99 - i)});
  }
  back.add("zzz", true);
  CHECK(forth.others == back.others);
  CHECK(forth.others.size() < 20);
  CHECK(back.learned.contains("zzz"));
  const auto error = caught([&] { check_all_met({"a"}, back); });
  CHECK(error.says("role00, role01"));
  CHECK(error.says("zzz, …"));
}
