#pragma once
// Where documents lie in what is read.

#include <cstddef>

namespace dt::data {

/// A range of a chunk that belongs to one document; the document ends with it or goes on with the next part.
struct Part {
  std::size_t begin;
  std::size_t end;
  bool ends_document;
};

}  // namespace dt::data
