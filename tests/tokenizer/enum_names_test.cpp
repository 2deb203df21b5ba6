#include "support/enum_names.hpp"

#include <catch2/catch.hpp>

#include "tokenizer/encode/added_tokens.hpp"
#include "tokenizer/encode/scanners.hpp"

using namespace dt::tokenizer;

TEMPLATE_TEST_CASE("names of enums differ, and are read as they are printed", "", FoundIn, Pattern) {
  dt_test::check_names<TestType>();
}
