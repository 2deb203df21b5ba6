#pragma once
// Turns text into ids. Each thread has an encoder; all threads share one tokenizer.

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/encode/merger.hpp"
#include "tokenizer/encode/piece_cache.hpp"
#include "tokenizer/encode/tokenizer.hpp"

namespace dt::tokenizer {

class Encoder final : private PieceSink {
 public:
  /// `tokenizer` must outlive the encoder and not move. An encoder takes 5 to 13 MiB whatever it
  /// encodes, except for pieces of megabytes.
  explicit Encoder(const Tokenizer& tokenizer);
  /// Appends the ids of a document, without those that a model expects at its start or end.
  /// `text` is valid UTF-8. If it is not, the ids are those of some text. The normalizer may
  /// lengthen the text to max_grown_bytes().
  /// Errors: as Regex and Normalizer.
  void encode(std::string_view text, std::vector<Id>& ids);
  /// Encodes as encode() does, except that a special token written out in `text` is text.
  void encode_without_specials(std::string_view text, std::vector<Id>& ids);

 private:
  void encode_document(std::string_view text, bool finds_specials, std::vector<Id>& ids);
  void take(std::span<const std::string_view> pieces) override;
  static std::string_view changed(const Normalizer& step, std::string_view text, bool is_first,
                                  BoundedText& buffer);
  void encode_normalized(std::string_view text, bool is_first);
  void encode_plain(std::string_view text);
  void encode_rarer(std::string_view piece);
  bool remember_short(std::string_view piece, std::span<const Id> ids);
  void merge(std::string_view piece);
  template <class Plain>
  void encode_around(const AddedTokenFinder& added, std::string_view text, Plain plain);

  const Tokenizer& tokenizer_;
  Merger merger_;
  ShortPieceCache short_;
  LongPieceCache long_;
  BoundedText normalized_{0}, prepared_{0};
  std::vector<Id> symbols_;
  std::vector<Id>* ids_ = nullptr;
  const char* text_end_ = nullptr;  // end of the text that holds the pieces
  bool finds_specials_ = true;      // in the current text
};

}  // namespace dt::tokenizer
