#include "base/text/enum_names.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/console.hpp"
#include "base/cli/options.hpp"
#include "base/error.hpp"
#include "base/numeric/dtype.hpp"
#include "support/enum_names.hpp"

using namespace dt;

namespace {

enum class Fruit { apple, pear, plum };
constexpr auto enum_names(Fruit) {
  return std::to_array<EnumName<Fruit>>({{"apple", Fruit::apple}, {"pear", Fruit::pear}});  // lacks plum
}

enum class Nameless { one };
static_assert(NamedEnum<Fruit> && NamedEnum<ProgressMode> && !NamedEnum<Nameless> && !NamedEnum<int>);
static_assert(name_of(Fruit::pear) == "pear");
static_assert(parse_name<Fruit>("pear") == Fruit::pear);

constexpr auto sizes =
    std::to_array<EnumName<int>>({{"small", 1}, {"medium", 2}, {"large", 3}, {"small", 4}, {"tiny", 1}});

}  // namespace

TEMPLATE_TEST_CASE("names of enums differ, and are read as they are printed", "", ProgressMode) {
  dt_test::check_names<TestType>();
}

TEST_CASE("a value that its enum's table forgot has no name") {
  CHECK(name_in(enum_names(Fruit{}), Fruit::plum).empty());
  try {
    name_of(Fruit::plum);
    FAIL("named");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::internal);
    CHECK(error.message().find("value 2 of an enum has no name") != std::string::npos);
  }
}

TEST_CASE("the first entry of a name or of a value counts") {
  CHECK(value_in(sizes, "small") == 1);
  CHECK(name_in(sizes, 1) == "small");
  CHECK(!value_in(sizes, "huge"));
  CHECK(names_in(sizes) == std::vector<std::string>{"small", "medium", "large", "small", "tiny"});
}

TEST_CASE("a part of a table has the values asked for, in their order") {
  constexpr auto part = subset<3, 2>(sizes);
  CHECK(names_in(part) == std::vector<std::string>{"large", "medium"});
  CHECK(value_in(part, "medium") == 2);
  CHECK(!value_in(part, "small"));
}

TEST_CASE("types have other names in options than in files") {
  CHECK(precision_name(DType::f32) == "fp32");
  CHECK(precision_name(DType::f64) == "fp64");
  CHECK(precision_name(DType::i32).empty());
  CHECK(value_in(precision_names, "fp16") == DType::f16);
}

namespace {

struct Choices {
  std::optional<int> size;
  std::optional<ProgressMode> mode;
  OptionTable table{"dt-test", "x"};

  Choices() {
    table.choice("size", &size, subset<2, 3>(sizes), "auto", "how large").choice("mode", &mode, "which");
  }
  void parse(std::vector<const char*> words) {
    words.insert(words.begin(), "dt-test");
    table.parse(static_cast<int>(words.size()), words.data());
  }
  std::string value_of(const std::string& name) const {
    for (const OptionValue& value : table.values())
      if (value.name == name) return value.value;
    return "?";
  }
};

}  // namespace

TEST_CASE("an option may have a name for no choice") {
  Choices none, some, automatic, wrong;
  none.parse({});
  CHECK(!none.size);
  CHECK(!none.mode);
  CHECK(none.value_of("size") == "auto");
  CHECK(none.value_of("mode").empty());
  CHECK(none.table.help().find("--size auto|medium|large") != std::string::npos);
  some.parse({"--size", "large", "--mode", "never"});
  CHECK(some.size == 3);
  CHECK(some.mode == ProgressMode::never);
  CHECK(some.value_of("size") == "large");
  automatic.size = 2;
  automatic.parse({"--size", "auto"});
  CHECK(!automatic.size);
  CHECK_THROWS_AS(wrong.parse({"--size", "small"}), Error);
}
