#pragma once
// Decodes an object's messages: shapes, element types, where a dataset's payload lies.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/hdf5/object_header.hpp"

namespace dt::hdf5 {

/// "IV.A.2.b. The Dataspace Message".
struct Extent {
  std::vector<std::uint64_t> shape;  // {} is a scalar
  std::uint64_t elements = 0;        // their product; 0 of a "null" space
};
/// Errors: input, where it is damaged, or its elements are more than 2^64 - 1.
Extent parse_extent(const Source& source, Bytes message);

/// "IV.A.2.d. The Datatype Message".
struct ElementType {
  enum class Kind { number, text, variable_text, other };
  enum class Padding { null_terminated, null_padded, space_padded };  // of text
  Kind kind = Kind::other;
  std::uint64_t bytes = 0;     // of an element
  std::optional<DType> dtype;  // of numbers that dt reads
  /// Integers of attributes may have any size and order.
  bool is_integer = false, is_signed = false, is_big_endian = false;
  Padding padding = Padding::null_terminated;
};
/// Errors: input, where it is damaged.
ElementType parse_type(const Source& source, Bytes message);

/// "IV.A.2.i. The Data Layout Message", of contiguous storage; nothing for others, and for versions that dt
/// does not know.
struct Contiguous {
  std::uint64_t offset = undefined_address, bytes = 0;
};
std::optional<Contiguous> parse_layout(const Source& source, Bytes message);

/// A dataset as its header describes it. Nothing of its payload has been touched.
struct StoredDataset {
  std::optional<DType> dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0, bytes = 0;
  std::string why_unreadable;  // "" where it can be read
};
bool is_dataset(const ObjectHeader& object);
/// Errors: input, where it is damaged; what is sound, but not read by dt, is told in the result.
StoredDataset parse_dataset(const Source& source, const ObjectHeader& object);

}  // namespace dt::hdf5
