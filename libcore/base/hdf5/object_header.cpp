#include "base/hdf5/object_header.hpp"

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
      throw fields.damaged_error(fmt::format("has a message of the unknown type {}", type));
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

}  // namespace dt::hdf5
