#pragma once
// Text in mdoc, the language of man pages.

#include <string>
#include <string_view>

#include "base/cli/manual.hpp"

namespace dt {

/// Returns text that mdoc prints as it is: escapes, and code points beyond ASCII by number.
std::string mdoc_text(std::string_view text);
/// Returns an argument of a macro, in quotes.
std::string mdoc_argument(std::string_view text);
/// Returns paragraphs, without a macro before the first. Options in them are bold.
std::string mdoc_paragraphs(const std::string& text);
/// Returns a list of entries. `macro` sets their names: "Pa ", "Ev ", or "" for plain words.
std::string mdoc_entries(const std::vector<ManualEntry>& entries, const std::string& macro);
/// Returns lines that are printed as they are.
std::string mdoc_literal(const std::string& lines);
/// Returns a page's head: date, title, section and what it describes.
std::string mdoc_head(const std::string& name, int section, const std::string& summary,
                      const std::string& date);

}  // namespace dt
