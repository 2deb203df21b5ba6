#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "comm/nccl/functions.cuh"

using namespace dt;
using namespace dt::comm::nccl;

TEST_CASE("NCCL 2.19 and all that is newer of version 2 will do, whatever header dt was built with") {
  for (const int version : {21900, 21903, 22005, 22203, NCCL_VERSION_CODE, 23007, 29900}) {
    CAPTURE(version);
    CHECK_NOTHROW(require_version(version));
  }
}

TEST_CASE("an older NCCL, or one of another major version, is refused by its number") {
  for (const auto& [version, text] :
       {std::pair(2804, "2.8.4"), {21406, "2.14.6"}, {21805, "2.18.5"}, {30000, "3.0.0"}}) {
    try {
      require_version(version);
      FAIL(text);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::environment);
      CHECK_THAT(
          error.message(),
          Catch::StartsWith(std::string("NCCL ") + text +
                            " is not supported: dt needs 2.19.0 or newer of the same major version; "));
    }
  }
}
