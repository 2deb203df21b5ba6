#pragma once
// The place of documents within a chunk.

#include <cstddef>

namespace dt::data {

/// A range of a chunk that belongs to one document. The document ends with it or continues in the
/// next part.
struct DocumentRange {
  std::size_t begin;
  std::size_t end;
  bool ends_document;
};

}  // namespace dt::data
