#include "base/hdf5/object_header.hpp"

#include <algorithm>

namespace dt::hdf5 {

namespace {

constexpr std::string_view what = "object header";
constexpr std::uint8_t shared_flag = 0x02;
constexpr std::uint8_t must_be_known_flag = 0x80;

/// The last type in the specification.
constexpr std::uint16_t last_type = 0x18;

/// Returns the number of bytes before a message's content.
std::size_t prefix_bytes(bool is_version_2, bool has_order) {
  if (!is_version_2) return 8;
  return has_order ? 6 : 4;
}

/// Limit of the specification.
constexpr std::uint8_t largest_rank = 32;

std::uint64_t product(const MetadataReader& source, const std::vector<std::uint64_t>& shape) {
  if (std::ranges::find(shape, 0U) != shape.end()) return 0;  // for any other extents
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : shape) {
    if (__builtin_mul_overflow(elements, extent, &elements))
      throw source.damaged_error("the shape of a dataset or attribute has more than 2^64 elements");
  }
  return elements;
}

/// "Fixed-Point Numbers": order and sign in the class's bits; bit offset and precision after the size.
void parse_integer(FieldReader& fields, std::uint32_t bits, Datatype& type) {
  constexpr std::uint32_t big_endian_bit = 0x01, signed_bit = 0x08;
  const std::uint16_t bit_offset = fields.u16(), precision = fields.u16();
  if (bit_offset != 0 || precision != 8 * type.bytes || type.bytes == 0 || type.bytes > 8) return;
  type.kind = Datatype::Kind::number;
  type.is_integer = true;
  type.is_signed = (bits & signed_bit) != 0;
  type.is_big_endian = (bits & big_endian_bit) != 0;
  if (type.is_big_endian) return;
  const NumberKind kind = type.is_signed ? NumberKind::signed_integer : NumberKind::unsigned_integer;
  for (const DTypeTraits& traits : dtype_table) {
    if (traits.kind == kind && traits.bytes == type.bytes) type.dtype = traits.dtype;
  }
}

/// "Floating-Point Numbers": the places and sizes of sign, exponent and mantissa, and the exponent's bias.
void parse_real(FieldReader& fields, std::uint32_t bits, Datatype& type) {
  constexpr std::uint32_t order_bits = 0x41, normalization_bits = 0x30, implied_one = 0x20;
  const std::uint16_t bit_offset = fields.u16(), precision = fields.u16();
  const std::uint8_t exponent_at = fields.u8(), exponent_bits = fields.u8();
  const std::uint8_t mantissa_at = fields.u8(), mantissa_bits = fields.u8();
  const std::uint32_t bias = fields.u32(), sign_at = bits >> 8 & 0xff;
  if ((bits & order_bits) != 0 || (bits & normalization_bits) != implied_one || bit_offset != 0) return;
  for (const DTypeTraits& traits : dtype_table) {
    if (traits.kind == NumberKind::floating && 8 * type.bytes == precision && type.bytes == traits.bytes &&
        exponent_bits == traits.exponent_bits && mantissa_bits == traits.mantissa_bits && mantissa_at == 0 &&
        exponent_at == mantissa_bits && sign_at == precision - 1U &&
        bias == (1U << (exponent_bits - 1)) - 1) {
      type.kind = Datatype::Kind::number;
      type.dtype = traits.dtype;
    }
  }
}

const Message& needed(const MetadataReader& source, const ObjectHeader& object, MessageType type,
                      const char* name) {
  const Message* message = object.find(type, source);
  if (message == nullptr) throw source.damaged_error(fmt::format("a dataset has no {}", name));
  return *message;
}

/// Returns the content of a message that is not shared. A shared message lies elsewhere. HDF5
/// shares named types, and other messages only if a program asks for it.
Bytes own_content(const MetadataReader& source, const Message& message, const char* name) {
  if (message.is_shared)
    throw source.unsupported_error(
        fmt::format("the {} of a dataset is shared, which dt does not read", name));
  return message.content;
}

/// "IV.A.2.l. The Data Storage - Filter Pipeline Message": version, then the number of filters.
bool has_filters(const MetadataReader& source, const ObjectHeader& object) {
  const Message* message = object.find(MessageType::filter_pipeline, source);
  if (message == nullptr) return false;
  FieldReader fields(source, message->content, "filter pipeline");
  fields.skip(1);
  return fields.u8() > 0;
}

std::string why_unreadable(const MetadataReader& source, const ObjectHeader& object,
                           const StoredDataset& dataset, const std::optional<ContiguousLayout>& layout) {
  if (!dataset.dtype) {
    return fmt::format("has an element type that dt does not read: expected little-endian {}", list_dtypes());
  }
  if (!layout || object.find(MessageType::external_files, source) != nullptr || has_filters(source, object))
    return "is not contiguous: rewrite it without chunks, compression and external files";
  if (dataset.bytes > 0 && layout->offset == undefined_address)
    return "has no data: it was declared but never written";
  if (layout->bytes != dataset.bytes) {
    return fmt::format("is damaged: its shape and element type take {} bytes, but {} are stored",
                       dataset.bytes, layout->bytes);
  }
  if (dataset.bytes > 0 &&
      (layout->offset > source.file_bytes() || dataset.bytes > source.file_bytes() - layout->offset)) {
    return fmt::format("is truncated: it needs {} bytes from byte {} on, but the file ends at byte {}",
                       dataset.bytes, layout->offset, source.file_bytes());
  }
  return {};
}

}  // namespace

ObjectHeader::ObjectHeader(MetadataReader& source, std::uint64_t address) {
  const std::vector<std::byte> first = source.read(address, 1, what);
  if (first[0] == std::byte{'O'}) {
    read_version_2(source, address);
  } else {
    read_version_1(source, address);
  }
}

/// "IV.A.1.a. Version 1 Data Object Header Prefix".
void ObjectHeader::read_version_1(MetadataReader& source, std::uint64_t address) {
  const std::vector<std::byte> prefix = source.read(address, 16, what);
  FieldReader fields(source, prefix, what);
  fields.expect_version(1);
  fields.skip(1 + 2 + 4);  // reserved, number of messages, reference count
  const std::uint32_t bytes = fields.u32();
  add_messages(source, store_block(source.read(address + 16, bytes, what)), false, false);
  add_continuations(source, false, false);
}

/// "IV.A.1.b. Version 2 Data Object Header Prefix".
void ObjectHeader::read_version_2(MetadataReader& source, std::uint64_t address) {
  constexpr std::uint8_t order_flag = 0x04, attribute_limits_flag = 0x10, times_flag = 0x20;
  const std::vector<std::byte> start = source.read(address, 6, what);
  FieldReader fields(source, start, what);
  fields.expect("OHDR");
  fields.expect_version(2);
  const std::uint8_t flags = fields.u8();
  const std::uint64_t optional =
      ((flags & times_flag) != 0 ? 16U : 0U) + ((flags & attribute_limits_flag) != 0 ? 4U : 0U);
  const std::size_t width = std::size_t{1} << (flags & 0x03);
  const std::vector<std::byte> size = source.read(address + 6 + optional, width, what);
  const std::uint64_t bytes = FieldReader(source, size, what).number(width);
  if (bytes > source.file_bytes()) throw source.damaged_error("its object header is larger than the file");
  const std::uint64_t prefix = 6 + optional + width;
  const Bytes whole =
      without_checksum(source, store_block(source.read(address, prefix + bytes + 4, what)), what);
  const bool has_order = (flags & order_flag) != 0;
  add_messages(source, whole.subspan(prefix), true, has_order);
  add_continuations(source, true, has_order);
}

/// "IV.A.2.q. The Object Header Continuation Message". If blocks lead to each other in a circle,
/// the source's bound ends the loop.
void ObjectHeader::add_continuations(MetadataReader& source, bool is_version_2, bool has_order) {
  for (std::size_t i = 0; i < continuations_.size(); ++i) {
    const Block block = continuations_[i];
    Bytes content = store_block(source.read(block.offset, block.bytes, what));
    if (is_version_2) {
      FieldReader fields(source, without_checksum(source, content, what), what);
      fields.expect("OCHK");
      content = fields.remaining();
    }
    add_messages(source, content, is_version_2, has_order);
  }
}

Bytes ObjectHeader::store_block(std::vector<std::byte> block) {
  return blocks_.emplace_back(std::move(block));
}

void ObjectHeader::add_messages(MetadataReader& source, Bytes block, bool is_version_2, bool has_order) {
  FieldReader fields(source, block, what);
  while (fields.remaining().size() >= prefix_bytes(is_version_2, has_order)) {
    const std::uint16_t type = is_version_2 ? fields.u8() : fields.u16();
    const std::uint16_t bytes = fields.u16();
    const std::uint8_t flags = fields.u8();
    if (!is_version_2) fields.skip(3);
    if (has_order) fields.skip(2);
    const Message message{static_cast<MessageType>(type), (flags & shared_flag) != 0, fields.take(bytes)};
    if (type > last_type && (flags & must_be_known_flag) != 0)
      throw fields.damaged_error(fmt::format("has a message of unknown type {}", type));
    if (message.type == MessageType::continuation) {
      FieldReader place(source, message.content, what);
      const std::uint64_t offset = place.u64();
      continuations_.push_back({offset, place.u64()});
    } else if (message.type != MessageType::nil) {
      source.charge(sizeof message, what);  // an empty message takes only four bytes of the file
      messages_.push_back(message);
    }
  }
}

const Message* ObjectHeader::find(MessageType type, const MetadataReader& source) const {
  const Message* found = nullptr;
  for (const Message& message : messages_) {
    if (message.type != type) continue;
    if (found != nullptr)
      throw source.damaged_error(
          fmt::format("an object has two messages of type {}", static_cast<int>(type)));
    found = &message;
  }
  return found;
}

Dataspace parse_dataspace(const MetadataReader& source, Bytes message) {
  FieldReader fields(source, message, "dataspace");
  const std::uint8_t version = fields.u8();
  if (version != 1 && version != 2) throw fields.damaged_error(fmt::format("has version {}", version));
  const std::uint8_t rank = fields.u8();
  if (rank > largest_rank) throw fields.damaged_error(fmt::format("has {} dimensions", rank));
  fields.skip(1);  // flag: maximum extents follow
  constexpr std::uint8_t null_space = 2;
  const std::uint8_t kind = version == 2 ? fields.u8() : 0;
  if (version == 1) fields.skip(5);
  Dataspace extent;
  for (std::uint8_t i = 0; i < rank; ++i) extent.shape.push_back(fields.u64());
  extent.elements = kind == null_space ? 0 : product(source, extent.shape);
  return extent;
}

Datatype parse_datatype(const MetadataReader& source, Bytes message) {
  constexpr std::uint8_t integer = 0, real = 1, text = 3, variable = 9, variable_text = 1;
  FieldReader fields(source, message, "datatype");
  const std::uint8_t class_and_version = fields.u8();
  const auto bits = static_cast<std::uint32_t>(fields.number(3));
  Datatype type;
  type.bytes = fields.u32();
  switch (class_and_version & 0x0f) {
    case integer:
      parse_integer(fields, bits, type);
      break;
    case real:
      parse_real(fields, bits, type);
      break;
    case text:
      type.kind = Datatype::Kind::text;
      type.padding = static_cast<Datatype::Padding>(bits & 0x0f);
      break;
    case variable:
      if ((bits & 0x0f) == variable_text) type.kind = Datatype::Kind::variable_text;
      break;
    default:
      break;
  }
  return type;
}

std::optional<ContiguousLayout> parse_layout(const MetadataReader& source, Bytes message) {
  constexpr std::uint8_t contiguous = 1;
  FieldReader fields(source, message, "data layout");
  const std::uint8_t version = fields.u8();
  if (version < 3 || version > 5 || fields.u8() != contiguous) return std::nullopt;
  ContiguousLayout layout;
  layout.offset = fields.u64();
  layout.bytes = fields.u64();
  return layout;
}

bool is_dataset(const ObjectHeader& object) {
  for (const Message& message : object.messages()) {
    if (message.type == MessageType::data_layout) return true;
  }
  return false;
}

StoredDataset parse_dataset(const MetadataReader& source, const ObjectHeader& object) {
  const Message& type_message = needed(source, object, MessageType::datatype, "datatype");
  const Message& extent_message = needed(source, object, MessageType::dataspace, "dataspace");
  const Message& layout_message = needed(source, object, MessageType::data_layout, "data layout");
  const Dataspace extent = parse_dataspace(source, own_content(source, extent_message, "dataspace"));
  const Datatype type = type_message.is_shared ? Datatype{} : parse_datatype(source, type_message.content);
  StoredDataset dataset{type.dtype, extent.shape, 0, 0, {}};
  if (__builtin_mul_overflow(extent.elements, type.bytes, &dataset.bytes))
    throw source.damaged_error("a dataset has more than 2^64 bytes");
  const auto layout = parse_layout(source, own_content(source, layout_message, "data layout"));
  dataset.why_unreadable = why_unreadable(source, object, dataset, layout);
  if (dataset.bytes > 0 && layout) dataset.offset = layout->offset;
  return dataset;
}

}  // namespace dt::hdf5
