#pragma once
// Data that exceeds memory, in files that are open only during writes, so that the limit of open
// files does not matter.

#include <span>
#include <vector>

#include "base/io/files.hpp"

namespace dt::data {

/// Appends the elements to the file and empties the vector.
/// Errors: environment.
template <class Element>
void append_to_file(const fs::path& path, std::vector<Element>& elements) {
  if (elements.empty()) return;
  File file = File::open_append(path);
  file.write(std::as_bytes(std::span(elements)));
  file.close();
  elements.clear();
}

}  // namespace dt::data
