#pragma once
// What does not fit memory, appended to files that are open only while they are written to, so that the limit
// of open files does not matter.

#include <span>
#include <vector>

#include "base/files.hpp"

namespace dt::data {

/// The elements go to the end of the file, and the vector is empty. Errors: environment.
template <class Element>
void append_to_file(const fs::path& path, std::vector<Element>& elements) {
  if (elements.empty()) return;
  File file = File::open_append(path);
  file.write(std::as_bytes(std::span(elements)));
  file.close();
  elements.clear();
}

}  // namespace dt::data
