#pragma once
// SentencePiece's tokenizer.model: its wire format, its content, and the tokenizer.json that it becomes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt::tokenizer {

/// Reads Protocol Buffers' wire format, in which a message is a sequence of fields. Walks over the fields
/// without copying. A field that holds a message takes another reader.
/// Source: protobuf.dev, "Encoding".
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

enum class PieceType { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct SentencePiece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::normal;
};

/// The content of a tokenizer.model, ModelProto of sentencepiece_model.proto. A piece's id is its index.
/// Defaults are the format's.
struct SentencePieceModel {
  std::vector<SentencePiece> pieces;
  bool byte_fallback = false;
  std::string unknown_surface = " \u2047 ";  // text that the unknown piece decodes to
  std::string charsmap;                      // see charsmap.hpp; empty: none
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
};

/// Returns whether `bytes` look like a tokenizer.model.
bool is_sentencepiece_model(std::string_view bytes);

/// Reads a tokenizer.model.
/// Errors: input, naming `origin`: broken bytes; a model other than a byte-pair encoding; options that
/// dt does not follow; pieces that are empty, not UTF-8 or there twice; no unknown piece, or two;
/// missing byte pieces.
SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& origin);

/// Returns a tokenizer.json. Its ids of texts and texts of ids are those of sentencepiece's encode and
/// decode. Members "dt_…" hold what the format cannot express. Hugging Face's tokenizers ignore them;
/// FORMATS.md says where their results then differ.
/// Errors: input, naming `origin`: those of read_sentencepiece_model(); pieces that text can become
/// in ways that dt does not follow (unused pieces, and those with a character that is no piece);
/// user-defined pieces that contain a space; a charsmap with rules for spaces.
std::string sentencepiece_as_hugging_face(std::string_view bytes, const std::string& origin);

}  // namespace dt::tokenizer
