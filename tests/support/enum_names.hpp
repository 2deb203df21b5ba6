#pragma once
// Checks of an enum's table of names, for a TEMPLATE_TEST_CASE over a module's enums.

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "base/text/enum_names.hpp"

namespace dt_test {

/// Checks that the enum's values count from 0, that names differ, and that each is read as its value.
template <dt::NamedEnum E>
void check_names() {
  std::set<std::string_view> names;
  std::set<int> values;
  for (const auto& entry : enum_names(E{})) {
    INFO(entry.name);
    CHECK(!entry.name.empty());
    CHECK(names.insert(entry.name).second);
    CHECK(values.insert(static_cast<int>(entry.value)).second);
    CHECK(dt::parse_name<E>(dt::name_of(entry.value)) == entry.value);
  }
  CHECK(*values.begin() == 0);
  CHECK(*values.rbegin() == static_cast<int>(values.size()) - 1);
  CHECK(dt::names_of<E>().size() == values.size());
  CHECK(!dt::parse_name<E>(""));
}

}  // namespace dt_test
