#include "plan/requests.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"

using namespace dt;
using namespace dt::plan;

TEST_CASE("steps are one, or a first and a last") {
  const StepRange one = parse_step_range("--profile", "10"), several = parse_step_range("--profile", "8-1K");
  CHECK((one.first == 10 && one.last == 10));
  CHECK((several.first == 8 && several.last == 1000));
  CHECK((!several.contains(7) && several.contains(8) && several.contains(1000) && !several.contains(1001)));
}

TEST_CASE("what names no steps is refused by name") {
  for (const char* text : {"", "0", "-", "-3", "3-", "3-2", "0-2", "1-2-3", "x", "3-x", "1.5", " 3", "1,2"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_step_range("--profile", text),
                      std::string("--profile '") + text + "' is not a range of steps");
  }
}
