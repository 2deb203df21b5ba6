// Reads the content of SentencePiece's tokenizer.model from its wire format.

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_set>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/encode/vocabulary.hpp"
#include "tokenizer/files/sentencepiece_file.hpp"

namespace dt::tokenizer {

bool ProtobufReader::next() {
  if (rest_.empty()) return false;
  const std::uint64_t tag = take_varint();
  if (tag >> 3 == 0 || tag >> 32 != 0)
    throw input_error("{}: a field has the invalid number {}", origin_, tag >> 3);
  field_ = static_cast<std::uint32_t>(tag >> 3);
  wire_ = tag & 7;
  integer_ = wire_ == varint || wire_ == length_delimited ? take_varint() : 0;
  if (wire_ == length_delimited) {
    bytes_ = take(integer_);
  } else if (wire_ == fixed32 || wire_ == fixed64) {
    bytes_ = take(wire_ == fixed32 ? 4 : 8);
  } else if (wire_ != varint) {
    throw input_error("{}: field {} has the unknown wire type {}", origin_, field_, wire_);
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
  if (size > rest_.size()) throw input_error("{} is truncated: a field extends beyond its end", origin_);
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

void ProtobufReader::expect(Wire wire) const {
  if (wire_ != wire)
    throw input_error("{}: field {} has wire type {}, expected {}", origin_, field_, wire_, int{wire});
}

namespace {

SentencePiece read_piece(std::string_view message, const std::string& origin) {
  SentencePiece piece;
  std::uint64_t type = static_cast<std::uint64_t>(PieceType::normal);
  for (ProtobufReader reader(message, origin); reader.next();) {
    if (reader.field() == 1) piece.text = std::string(reader.bytes());
    if (reader.field() == 2) piece.score = reader.real();
    if (reader.field() == 3) type = reader.integer();
  }
  if (piece.text.empty() || !is_valid_utf8(piece.text))
    throw input_error("{}: a piece is empty or not valid UTF-8", origin);
  if (!std::isfinite(piece.score)) throw input_error("{}: '{}' has no score", origin, piece.text);
  if (type < 1 || type > 6) throw input_error("{}: '{}' has the unknown type {}", origin, piece.text, type);
  piece.type = static_cast<PieceType>(type);
  return piece;
}

void check_model_type(std::uint64_t type, const std::string& origin) {
  constexpr const char* names[] = {"unigram", "bpe", "word", "char"};
  if (type == 2) return;
  const std::string name = type >= 1 && type <= 4 ? names[type - 1] : fmt::format("{}", type);
  throw Error(ErrorKind::input, fmt::format("{} is a SentencePiece model of type {}", origin, name),
              "dt supports only byte-pair encodings (bpe)");
}

void read_trainer(std::string_view message, SentencePieceModel& model, const std::string& origin) {
  std::uint64_t type = 1;
  for (ProtobufReader reader(message, origin); reader.next();) {
    if (reader.field() == 3) type = reader.integer();
    if (reader.field() == 24 && reader.integer() != 0)
      throw input_error("{}: dt does not support treat_whitespace_as_suffix", origin);
    if (reader.field() == 35) model.byte_fallback = reader.integer() != 0;
    if (reader.field() == 44) model.unknown_surface = std::string(reader.bytes());
  }
  check_model_type(type, origin);
}

void read_normalizer_spec(std::string_view message, SentencePieceModel& model, const std::string& origin) {
  for (ProtobufReader reader(message, origin); reader.next();) {
    if (reader.field() == 2) model.charsmap = std::string(reader.bytes());
    if (reader.field() == 3) model.add_dummy_prefix = reader.integer() != 0;
    if (reader.field() == 4) model.remove_extra_whitespaces = reader.integer() != 0;
    if (reader.field() == 5) model.escape_whitespaces = reader.integer() != 0;
  }
}

void refuse_denormalizer(std::string_view message, const std::string& origin) {
  for (ProtobufReader reader(message, origin); reader.next();) {
    if (reader.field() == 2 && !reader.bytes().empty())
      throw input_error("{}: dt does not support a denormalizer", origin);
  }
}

void check_pieces(const SentencePieceModel& model, const std::string& origin) {
  std::unordered_set<std::string_view> texts;
  std::size_t num_unknown = 0, num_bytes = 0;
  if (model.pieces.size() > max_vocabulary / 2)
    throw input_error("{} has {} pieces; the limit is {}", origin, model.pieces.size(), max_vocabulary / 2);
  for (const SentencePiece& piece : model.pieces) {
    if (!texts.insert(piece.text).second)
      throw input_error("{}: the piece '{}' is listed twice", origin, piece.text);
    if (piece.type == PieceType::unknown) ++num_unknown;
    if (piece.type == PieceType::byte) ++num_bytes;
  }
  if (num_unknown != 1)
    throw input_error("{}: {} pieces have the type unknown, expected one", origin, num_unknown);
  if (num_bytes != (model.byte_fallback ? 256 : 0))
    throw input_error("{}: {} pieces are bytes, but byte_fallback is {}", origin, num_bytes,
                      model.byte_fallback);
  for (int byte = 0; model.byte_fallback && byte < 256; ++byte) {
    if (!texts.contains(fmt::format("<0x{:02X}>", byte)))
      throw input_error("{}: no piece stands for the byte 0x{:02x}", origin, byte);
  }
}

}  // namespace

bool is_sentencepiece_model(std::string_view bytes) {
  // The first field is a piece, whose first field is its text.
  if (bytes.size() < 4 || bytes[0] != '\n' || bytes[2] != '\n') return false;
  return bytes[1] > 0 && bytes[3] > 0 && bytes[3] <= bytes[1] - 2;
}

SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& origin) {
  SentencePieceModel model;
  bool has_trainer = false;
  for (ProtobufReader reader(bytes, origin); reader.next();) {
    if (reader.field() == 1) model.pieces.push_back(read_piece(reader.bytes(), origin));
    if (reader.field() == 2) read_trainer(reader.bytes(), model, origin);
    if (reader.field() == 3) read_normalizer_spec(reader.bytes(), model, origin);
    if (reader.field() == 5) refuse_denormalizer(reader.bytes(), origin);
    has_trainer = has_trainer || reader.field() == 2;
  }
  if (!has_trainer) check_model_type(1, origin);
  check_pieces(model, origin);
  return model;
}

}  // namespace dt::tokenizer
