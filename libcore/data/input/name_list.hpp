#pragma once
// Millions of names, in little more memory than their letters.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt::data {

/// A list of file names, which contain no NUL.
class NameList {
 public:
  void add(std::string_view name);
  /// Sorts the names in byte order, last to first.
  void sort_descending();
  bool empty() const { return begins_.empty(); }
  /// Removes and returns the last name.
  std::string take_last();

 private:
  std::string letters_;                // all names, each ended by a NUL
  std::vector<std::uint64_t> begins_;  // offsets in letters_ of the remaining names
};

}  // namespace dt::data
