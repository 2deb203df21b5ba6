#pragma once
// "IV.A. Data Object Headers": the messages that describe a group or a dataset.

#include <cstdint>
#include <vector>

#include "base/hdf5/source.hpp"

namespace dt::hdf5 {

/// The types of "IV.A.2. Header Message Types" that dt knows.
enum class MessageType : std::uint16_t {
  nil = 0x00,
  dataspace = 0x01,
  link_info = 0x02,
  datatype = 0x03,
  link = 0x06,
  external_files = 0x07,
  data_layout = 0x08,
  filter_pipeline = 0x0b,
  attribute = 0x0c,
  continuation = 0x10,
  symbol_table = 0x11,
  attribute_info = 0x15,
};

struct Message {
  MessageType type;
  bool is_shared;  // its content lies elsewhere
  Bytes content;
};

/// The messages of one object, in file order.
class ObjectHeader {
 public:
  /// Reads the header.
  /// Errors: input if there is no object header of a known version at `address`, or it is damaged.
  ObjectHeader(MetadataReader& source, std::uint64_t address);
  ObjectHeader(ObjectHeader&&) = default;  // messages point into its blocks, which stay in place
  const std::vector<Message>& messages() const { return messages_; }
  /// Returns the only message of a type, or nullptr.
  /// Errors: input if there are several.
  const Message* find(MessageType type, const MetadataReader& source) const;

 private:
  struct Block {
    std::uint64_t offset, bytes;
  };
  void read_version_1(MetadataReader& source, std::uint64_t address);
  void read_version_2(MetadataReader& source, std::uint64_t address);
  void add_continuations(MetadataReader& source, bool is_version_2, bool has_order);
  Bytes store_block(std::vector<std::byte> block);
  void add_messages(MetadataReader& source, Bytes block, bool is_version_2, bool has_order);
  std::vector<std::vector<std::byte>> blocks_;  // storage that messages point into
  std::vector<Block> continuations_;            // unread
  std::vector<Message> messages_;
};

}  // namespace dt::hdf5
