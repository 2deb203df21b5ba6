#pragma once
// The attributes of an object that are one integer or one text.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "base/hdf5/object_header.hpp"

namespace dt::hdf5 {

/// The value of an attribute as dt reads it.
using AttributeValue = std::variant<std::string, std::int64_t>;

class Attributes {
 public:
  /// Creates an empty set of attributes.
  Attributes() = default;
  /// Reads all attributes of an object.
  /// Errors: input if they are damaged or two have the same name.
  Attributes(MetadataReader& source, const ObjectHeader& object);
  /// Returns an attribute's value. Returns none if there is no attribute of this name, or dt does
  /// not read its kind (several elements, another type).
  /// Errors: input if it is text of variable length, or lies outside the object's header and heap.
  /// HDF5 puts attributes larger than 64 KiB there and, in objects of more than eight attributes,
  /// those above 4 KiB.
  std::optional<AttributeValue> find(const MetadataReader& source, const std::string& name) const;

 private:
  struct Encoded {
    std::vector<std::byte> type, extent, value;
    bool is_shared;  // its type or extent lies elsewhere
  };
  void add(const MetadataReader& source, Bytes message);
  void add_dense(MetadataReader& source, const Message& info);
  std::map<std::string, Encoded> attributes_;
  std::set<std::uint32_t> too_large_;  // hashes of names
};

}  // namespace dt::hdf5
