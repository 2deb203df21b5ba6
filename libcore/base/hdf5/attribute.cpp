#include "base/hdf5/attribute.hpp"

#include <algorithm>
#include <limits>

#include "base/hdf5/dense_storage.hpp"
#include "base/hdf5/object_header.hpp"
#include "base/numeric/integer.hpp"

namespace dt::hdf5 {

namespace {

constexpr std::string_view what = "attribute";

/// "Version 2 B-tree, Type 8 Record Layout": ID, flags, order, hash of the name.
constexpr std::uint8_t attribute_names_tree = 8;
constexpr std::size_t hash_at_after_id = 1 + 4;

std::optional<AttributeValue> parse_integer(const Datatype& type, Bytes value) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::byte digit = value[type.is_big_endian ? i : value.size() - 1 - i];
    number = number << 8 | std::to_integer<std::uint64_t>(digit);
  }
  if (type.is_signed) {
    const int unused = static_cast<int>(64 - 8 * value.size());
    return static_cast<std::int64_t>(number << unused) >> unused;
  }
  if (number > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::string parse_text(const Datatype& type, Bytes value) {
  std::string text(reinterpret_cast<const char*>(value.data()), value.size());
  text.resize(std::min(text.find('\0'), text.size()));
  if (type.padding == Datatype::Padding::space_padded) text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

Attributes::Attributes(MetadataReader& source, const ObjectHeader& object) {
  for (const Message& message : object.messages()) {
    if (message.type == MessageType::attribute && !message.is_shared) add(source, message.content);
  }
  if (const Message* info = object.find(MessageType::attribute_info, source)) add_dense(source, *info);
}

/// "IV.A.2.m. The Attribute Message". Only version 1 pads its parts to multiples of 8 bytes.
void Attributes::add(const MetadataReader& source, Bytes message) {
  constexpr std::uint8_t shared_flags = 0x03;
  FieldReader fields(source, message, what);
  const std::uint8_t version = fields.u8();
  if (version < 1 || version > 3) throw fields.damaged_error(fmt::format("has version {}", version));
  const std::uint8_t flags = fields.u8();
  const std::uint64_t name_bytes = fields.u16(), type_bytes = fields.u16(), extent_bytes = fields.u16();
  if (version == 3) fields.skip(1);  // encoding of the name
  const auto part = [&](std::uint64_t bytes) {
    return fields.take(version == 1 ? round_up(bytes, 8U) : bytes).first(bytes);
  };
  const Bytes name = part(name_bytes), type = part(type_bytes), extent = part(extent_bytes);
  const auto name_end = std::find(name.begin(), name.end(), std::byte{0});
  std::string text(reinterpret_cast<const char*>(name.data()),
                   static_cast<std::size_t>(name_end - name.begin()));
  const auto copy = [](Bytes bytes) { return std::vector<std::byte>(bytes.begin(), bytes.end()); };
  Encoded encoded{copy(type), copy(extent), copy(fields.remaining()),
                  version > 1 && (flags & shared_flags) != 0};
  const auto [found, is_new] = attributes_.emplace(std::move(text), std::move(encoded));
  if (!is_new)
    throw source.damaged_error(fmt::format("an object has two attributes named '{}'", found->first));
}

/// "IV.A.2.v. The Attribute Info Message": the place of attributes outside the object's header.
void Attributes::add_dense(MetadataReader& source, const Message& info) {
  constexpr std::uint8_t order_flag = 0x01;
  FieldReader fields(source, info.content, "attribute info");
  fields.expect_version(0);
  if ((fields.u8() & order_flag) != 0) fields.skip(2);
  const std::uint64_t heap_address = fields.u64();
  const std::uint64_t tree_address = fields.u64();
  if (heap_address == undefined_address) return;
  FractalHeap heap(source, heap_address);
  const BTreeRecords records =
      read_btree_v2(source, tree_address, attribute_names_tree, heap.id_bytes() + hash_at_after_id + 4);
  constexpr std::uint8_t shared_flag = 0x02;
  for (std::size_t i = 0; i < records.size(); ++i) {
    FieldReader record(source, records[i], what);
    const Bytes id = record.take(heap.id_bytes());
    if ((record.u8() & shared_flag) != 0) continue;
    record.skip(4);
    if (const auto message = heap.find(id)) {
      add(source, *message);
    } else {
      too_large_.insert(record.u32());
    }
  }
}

std::optional<AttributeValue> Attributes::find(const MetadataReader& source, const std::string& name) const {
  const auto found = attributes_.find(name);
  if (found == attributes_.end()) {
    if (too_large_.contains(checksum(std::as_bytes(std::span(name)))))
      throw source.unsupported_error(fmt::format("its attribute {} is larger than dt supports", name));
    return std::nullopt;
  }
  const Encoded& encoded = found->second;
  if (encoded.is_shared) return std::nullopt;
  const Datatype type = parse_datatype(source, encoded.type);
  if (type.kind == Datatype::Kind::variable_text) {
    throw source.unsupported_error(
        fmt::format("its attribute {} is a string of variable length, expected fixed length", name));
  }
  if (parse_dataspace(source, encoded.extent).elements != 1) return std::nullopt;
  if (encoded.value.size() < type.bytes)
    throw source.damaged_error(fmt::format("its attribute {} ends early", name));
  const Bytes value = Bytes(encoded.value).first(type.bytes);
  if (type.kind == Datatype::Kind::text) return parse_text(type, value);
  if (type.is_integer) return parse_integer(type, value);
  return std::nullopt;
}

}  // namespace dt::hdf5
