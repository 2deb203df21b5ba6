#include "data/input/name_list.hpp"

#include <algorithm>
#include <functional>

namespace dt::data {

void NameList::add(std::string_view name) {
  begins_.push_back(letters_.size());
  letters_ += name;
  letters_ += '\0';
}

void NameList::sort_descending() {
  const auto name = [&](std::uint64_t begin) { return std::string_view(letters_.data() + begin); };
  std::ranges::sort(begins_, std::greater(), name);
}

std::string NameList::take_last() {
  std::string name = letters_.data() + begins_.back();
  begins_.pop_back();
  return name;
}

}  // namespace dt::data
