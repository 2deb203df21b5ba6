#pragma once
// Decoding of an object's messages: shapes, element types, and places of payloads.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/hdf5/object_header.hpp"
#include "base/numeric/dtype.hpp"

namespace dt::hdf5 {

/// "IV.A.2.b. The Dataspace Message".
struct Dataspace {
  std::vector<std::uint64_t> shape;  // {} is a scalar
  std::uint64_t elements = 0;        // product of the shape; 0 for a "null" space
};
/// Errors: input if the message is damaged or the elements are more than 2^64 - 1.
Dataspace parse_dataspace(const MetadataReader& source, Bytes message);

/// "IV.A.2.d. The Datatype Message".
struct Datatype {
  enum class Kind { number, text, variable_text, other };
  enum class Padding { null_terminated, null_padded, space_padded };  // for text
  Kind kind = Kind::other;
  std::uint64_t bytes = 0;     // per element
  std::optional<DType> dtype;  // set for numbers that dt reads
  /// Integer attributes may have any size and byte order.
  bool is_integer = false, is_signed = false, is_big_endian = false;
  Padding padding = Padding::null_terminated;
};
/// Errors: input if the message is damaged.
Datatype parse_datatype(const MetadataReader& source, Bytes message);

/// "IV.A.2.i. The Data Layout Message" of contiguous storage. parse_layout() returns none for other
/// layouts and for versions that dt does not know.
struct ContiguousLayout {
  std::uint64_t offset = undefined_address, bytes = 0;
};
std::optional<ContiguousLayout> parse_layout(const MetadataReader& source, Bytes message);

/// A dataset as its header describes it. Parsing touches nothing of its payload.
struct StoredDataset {
  std::optional<DType> dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0, bytes = 0;
  std::string why_unreadable;  // "" if dt can read it
};
bool is_dataset(const ObjectHeader& object);
/// Describes a dataset. A sound dataset that dt does not read is no error: why_unreadable gives the
/// reason.
/// Errors: input if the header is damaged.
StoredDataset parse_dataset(const MetadataReader& source, const ObjectHeader& object);

}  // namespace dt::hdf5
