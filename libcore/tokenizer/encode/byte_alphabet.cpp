#include "tokenizer/encode/byte_alphabet.hpp"

#include <array>
#include <span>
#include <vector>

#include "base/text/utf8.hpp"

namespace dt::tokenizer {

namespace {

bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::string, 256> characters;
  std::array<int, 512> bytes;  // by code point; -1 if the code point stands for no byte
  Alphabet() {
    bytes.fill(-1);
    char32_t free = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const char32_t character = is_printable(byte) ? static_cast<char32_t>(byte) : free++;
      characters[static_cast<std::size_t>(byte)] = to_utf8(character);
      bytes[character] = byte;
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet it;
  return it;
}

using Pieces = std::span<const std::string_view>;

/// Takes pieces that are written in the byte alphabet and passes on the bytes that they stand for. A
/// character stands for one byte.
class BytesSink final : public PieceSink {
 public:
  explicit BytesSink(PieceSink& next) : next_(next) {}
  /// Sets the sources of the pieces that follow. The sources are written one after another from
  /// `written` on.
  void start(Pieces sources, const char* written) {
    sources_ = sources;
    begin_ = at_ = 0;
    written_ = written;
  }

 protected:
  void take(Pieces pieces) override {
    for (const std::string_view piece : pieces) {
      const char* const end = piece.data() + piece.size();
      at_ += num_characters({written_, piece.data()});
      const std::size_t size = num_characters(piece);
      next_.add(source_at(at_).substr(0, size));
      at_ += size;
      written_ = end;
    }
  }

 private:
  /// Returns the rest of a source from the `at`th byte of all sources on. `at` never decreases.
  std::string_view source_at(std::size_t at) {
    for (; at - begin_ >= sources_.front().size(); sources_ = sources_.subspan(1))
      begin_ += sources_.front().size();
    return sources_.front().substr(at - begin_);
  }
  PieceSink& next_;
  Pieces sources_;         // first is the source of the last piece
  std::size_t begin_ = 0;  // first byte of that source, counted through all sources
  std::size_t at_ = 0;     // end of the last piece, counted likewise
  const char* written_ = nullptr;
};

/// Writes pieces in the byte alphabet and splits them further.
class AlphabetSink final : public PieceSink {
 public:
  AlphabetSink(const PreTokenizer& splitter, PieceSink& next) : splitter_(splitter), bytes_(next) {}

 protected:
  void take(Pieces pieces) override {
    text_.clear();
    std::vector<std::size_t> ends;
    for (const std::string_view piece : pieces) {
      append_in_alphabet(piece, text_);
      ends.push_back(text_.size());
    }
    written_.clear();
    for (std::size_t i = 0, begin = 0; i < ends.size(); begin = ends[i], ++i)
      written_.push_back(std::string_view(text_).substr(begin, ends[i] - begin));
    bytes_.start(pieces, text_.data());
    splitter_.split_each(written_, bytes_);
    bytes_.flush();
  }

 private:
  const PreTokenizer& splitter_;
  BytesSink bytes_;
  std::string text_;
  std::vector<std::string_view> written_;
};

class AlphabetSplitter final : public PreTokenizer {
 public:
  AlphabetSplitter(std::unique_ptr<PreTokenizer> first, std::unique_ptr<PreTokenizer> then)
      : first_(std::move(first)), then_(std::move(then)) {}
  void split(std::string_view text, PieceSink& sink) const override {
    AlphabetSink stage(*then_, sink);
    if (first_) {
      first_->split(text, stage);
    } else {
      stage.add(text);
    }
    stage.flush();
  }
  bool runs_regex() const override { return (first_ && first_->runs_regex()) || then_->runs_regex(); }

 private:
  std::unique_ptr<PreTokenizer> first_, then_;
};

}  // namespace

std::optional<std::string> bytes_of_alphabet(std::string_view text) {
  std::string bytes;
  for (; !text.empty(); text.remove_prefix(character_length(text))) {
    const char32_t character = first_code_point(text);
    const int byte = character < alphabet().bytes.size() ? alphabet().bytes[character] : -1;
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string in_alphabet(std::string_view bytes) {
  std::string text;
  append_in_alphabet(bytes, text);
  return text;
}

void append_in_alphabet(std::string_view bytes, std::string& text) {
  const auto& characters = alphabet().characters;
  for (const char byte : bytes) text += characters[static_cast<unsigned char>(byte)];
}

std::unique_ptr<PreTokenizer> make_alphabet_splitter(std::unique_ptr<PreTokenizer> first,
                                                     std::unique_ptr<PreTokenizer> then) {
  return std::make_unique<AlphabetSplitter>(std::move(first), std::move(then));
}

}  // namespace dt::tokenizer
