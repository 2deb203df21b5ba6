#pragma once
// PTX as text: words, lists and declarations.

#include <string>
#include <string_view>
#include <vector>

namespace dt::ptx {

std::string_view trimmed(std::string_view text);
/// Without comments; lines stay where they are.
std::string without_comments(const std::string& text);
/// At commas that stand in no brackets.
std::vector<std::string_view> split_list(std::string_view text);
/// The place of the bracket that closes the one at `open`.
std::size_t closing(std::string_view text, std::size_t open);

/// ".param .align 8 .b8 name[72]": name and bytes, of an array those of all elements.
struct Declaration {
  std::string name;
  std::size_t alignment, bytes;
};
Declaration declaration(std::string_view text);

std::size_t round_up(std::size_t bytes, std::size_t unit);

}  // namespace dt::ptx
