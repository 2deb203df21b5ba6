#include "support/enum_names.hpp"

#include <catch2/catch.hpp>

#include "data/build/make_dataset.hpp"
#include "data/build/split_rule.hpp"
#include "data/input/inputs.hpp"
#include "data/input/token_file.hpp"
#include "data/read/dataset_file.hpp"

using namespace dt::data;

TEMPLATE_TEST_CASE("names of enums differ, and are read as they are printed", "", MakePhase, SplitBy,
                   InputFormat, InvalidUtf8, TokenType, Split) {
  dt_test::check_names<TestType>();
}
