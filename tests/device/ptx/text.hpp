#pragma once
// PTX as text: words, lists and declarations.

#include <string>
#include <string_view>
#include <vector>

namespace dt::ptx {

std::string_view trimmed(std::string_view text);
/// Returns the text without comments; lines stay where they are.
std::string without_comments(const std::string& text);
/// Splits at commas outside brackets.
std::vector<std::string_view> split_list(std::string_view text);
/// Returns the place of the bracket that closes the one at `open`.
std::size_t closing(std::string_view text, std::size_t open);

/// A declaration such as ".param .align 8 .b8 name[72]". An array's bytes are those of all elements.
struct Declaration {
  std::string name;
  std::size_t alignment, bytes;
};
Declaration declaration(std::string_view text);

}  // namespace dt::ptx
