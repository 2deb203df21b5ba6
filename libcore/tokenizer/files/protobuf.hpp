#pragma once
// Reads Protocol Buffers' wire format, in which a message is a sequence of fields.
// Source: protobuf.dev, "Encoding".

#include <cstdint>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// Walks over a message's fields without copying. A field that holds a message takes another reader.
class ProtobufReader {
 public:
  /// `origin` names the file in errors, and must outlive the reader.
  ProtobufReader(std::string_view message, const std::string& origin) : rest_(message), origin_(origin) {}

  /// Goes to the next field. Returns false if there is none.
  /// Errors: input if the field is invalid or ends beyond the message.
  bool next();
  std::uint32_t field() const { return field_; }
  /// Returns the field's value.
  /// Errors: input if the value has another type.
  std::uint64_t integer() const;
  float real() const;
  std::string_view bytes() const;

 private:
  enum Wire { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };
  std::uint64_t take_varint();
  std::string_view take(std::uint64_t size);
  void expect(Wire wire) const;

  std::string_view rest_;
  const std::string& origin_;
  std::uint32_t field_ = 0;
  std::uint32_t wire_ = 0;
  std::uint64_t integer_ = 0;
  std::string_view bytes_;
};

}  // namespace dt::tokenizer
