#pragma once
// Man pages, made from a tool's option table and the prose that the table lacks.

#include <string>
#include <vector>

#include "base/cli/options.hpp"

namespace dt {

/// A word and its explanation: a file, an exit code, a column.
struct ManualEntry {
  std::string name;
  std::string text;
};

/// A section of a tool's own: text, then entries.
struct ManualSection {
  std::string title;
  std::string text;
  std::vector<ManualEntry> entries{};
};

/// The prose that a page has beside the option table. A blank line in a text begins a paragraph. Lines that
/// begin with blanks are printed as they are.
struct Manual {
  std::string description{};
  std::vector<ManualSection> sections{};  // after the options
  std::vector<ManualEntry> files{};
  std::vector<ManualEntry> exit_codes{};  // the tool's meaning of 5 and 75
  std::vector<std::string> see_also{};    // "dt-merge(1)", in the order of section and name
};

/// Returns the mdoc source of a tool's page in section 1. `date` is as in "November 28, 2026".
std::string man_page(const OptionTable& table, const Manual& manual, const std::string& date);

/// Returns the mdoc source of dt-environment(7), the table of all environment variables.
std::string environment_page(const std::string& date);

}  // namespace dt
