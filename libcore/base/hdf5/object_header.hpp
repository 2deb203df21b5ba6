#pragma once
// "IV.A. Data Object Headers": the messages that describe a group or a dataset, and their decoding:
// shapes, element types, and places of payloads.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/hdf5/source.hpp"
#include "base/numeric/dtype.hpp"

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
