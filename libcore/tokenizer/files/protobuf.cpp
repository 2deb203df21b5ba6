#include "tokenizer/files/protobuf.hpp"

#include <bit>

#include "base/error.hpp"

namespace dt::tokenizer {

bool ProtobufReader::next() {
  if (rest_.empty()) return false;
  const std::uint64_t tag = take_varint();
  if (tag >> 3 == 0 || tag >> 32 != 0) throw input_error("{}: a field's number is {}", origin_, tag >> 3);
  field_ = static_cast<std::uint32_t>(tag >> 3);
  wire_ = tag & 7;
  integer_ = wire_ == varint || wire_ == length_delimited ? take_varint() : 0;
  if (wire_ == length_delimited) {
    bytes_ = take(integer_);
  } else if (wire_ == fixed32 || wire_ == fixed64) {
    bytes_ = take(wire_ == fixed32 ? 4 : 8);
  } else if (wire_ != varint) {
    throw input_error("{}: field {} is of the unknown wire type {}", origin_, field_, wire_);
  }
  return true;
}

std::uint64_t ProtobufReader::integer() const {
  expect(varint);
  return integer_;
}

float ProtobufReader::real() const {
  expect(fixed32);
  std::uint32_t bits = 0;
  for (std::size_t i = 4; i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(bytes_[i]);
  return std::bit_cast<float>(bits);
}

std::string_view ProtobufReader::bytes() const {
  expect(length_delimited);
  return bytes_;
}

std::uint64_t ProtobufReader::take_varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1).front());
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  throw input_error("{}: a number is longer than 64 bits", origin_);
}

std::string_view ProtobufReader::take(std::uint64_t size) {
  if (size > rest_.size()) throw input_error("{} is cut short: a field ends beyond it", origin_);
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

void ProtobufReader::expect(Wire wire) const {
  if (wire_ != wire)
    throw input_error("{}: field {} is of wire type {}, not {}", origin_, field_, wire_, int{wire});
}

}  // namespace dt::tokenizer
