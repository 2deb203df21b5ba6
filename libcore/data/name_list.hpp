#pragma once
// Names by the million, in little more memory than their letters.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt::data {

/// Of files: they hold no NUL.
class NameList {
 public:
  void add(std::string_view name);
  /// In byte order, last to first.
  void sort_descending();
  bool empty() const { return begins_.empty(); }
  /// Removes the last one.
  std::string take_last();

 private:
  std::string letters_;                // of all names, each ended by a NUL
  std::vector<std::uint64_t> begins_;  // in it, of the names that are left
};

}  // namespace dt::data
