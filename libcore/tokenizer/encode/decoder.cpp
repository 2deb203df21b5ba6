#include "tokenizer/encode/decoder.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/encode/bounded_text.hpp"

namespace dt::tokenizer {

namespace {

using Texts = std::vector<std::string>;

class Fuse final : public DecodeStep {
 public:
  void apply(Texts& texts, std::size_t) const override {
    std::string all;
    for (const std::string& text : texts) all += text;
    texts.assign(1, std::move(all));
  }
};

std::optional<char> byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
  if (error != std::errc() || end != token.data() + 5) return std::nullopt;
  return static_cast<char>(value);
}

class ByteFallback final : public DecodeStep {
 public:
  void apply(Texts& texts, std::size_t) const override {
    Texts out;
    std::string bytes;
    for (std::string& text : texts) {
      if (const auto byte = byte_of(text)) {
        bytes += *byte;
        continue;
      }
      release(bytes, out);
      out.push_back(std::move(text));
    }
    release(bytes, out);
    texts = std::move(out);
  }

 private:
  static void release(std::string& bytes, Texts& out) {
    if (is_valid_utf8(bytes)) {
      if (!bytes.empty()) out.push_back(bytes);
    } else {
      out.insert(out.end(), bytes.size(), "\uFFFD");
    }
    bytes.clear();
  }
};

class DecodeReplacement final : public DecodeStep {
 public:
  explicit DecodeReplacement(std::unique_ptr<Normalizer> replacement)
      : replacement_(std::move(replacement)) {}
  void apply(Texts& texts, std::size_t max_bytes) const override {
    BoundedText buffer(max_bytes);
    for (std::string& text : texts) {
      text = std::string(replacement_->apply(text, false, buffer));
      buffer.count_bytes(text.size());
    }
  }

 private:
  std::unique_ptr<Normalizer> replacement_;
};

class DecodeStrip final : public DecodeStep {
 public:
  DecodeStrip(std::string content, std::size_t start, std::size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void apply(Texts& texts, std::size_t) const override {
    for (std::string& text : texts) {
      std::string_view rest = text;
      for (std::size_t i = 0; i < start_ && rest.starts_with(content_); ++i)
        rest.remove_prefix(content_.size());
      for (std::size_t i = 0; i < stop_ && rest.ends_with(content_); ++i) rest.remove_suffix(content_.size());
      text = std::string(rest);
    }
  }

 private:
  std::string content_;
  std::size_t start_, stop_;
};

class StripUntilText final : public DecodeStep {
 public:
  StripUntilText(std::string content, bool each) : content_(std::move(content)), each_(each) {}
  void apply(Texts& texts, std::size_t) const override {
    for (std::string& text : texts) {
      const bool is_there = text.starts_with(content_);
      if (is_there) text.erase(0, content_.size());
      if (!text.empty() || (is_there && !each_)) return;
    }
  }

 private:
  std::string content_;
  bool each_;
};

class MetaspaceDecoder final : public DecodeStep {
 public:
  MetaspaceDecoder(const std::string& replacement, bool drops_first)
      : to_space_(make_replacement(replacement, " ")),
        to_nothing_(make_replacement(replacement, "")),
        drops_first_(drops_first) {}
  void apply(Texts& texts, std::size_t max_bytes) const override {
    BoundedText buffer(max_bytes);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const Normalizer& replacement = i == 0 && drops_first_ ? *to_nothing_ : *to_space_;
      texts[i] = std::string(replacement.apply(texts[i], false, buffer));
    }
  }

 private:
  std::unique_ptr<Normalizer> to_space_, to_nothing_;
  bool drops_first_;
};

}  // namespace

std::unique_ptr<DecodeStep> make_fuse() {
  return std::make_unique<Fuse>();
}
std::unique_ptr<DecodeStep> make_byte_fallback() {
  return std::make_unique<ByteFallback>();
}
std::unique_ptr<DecodeStep> make_decode_replacement(std::unique_ptr<Normalizer> replacement) {
  return std::make_unique<DecodeReplacement>(std::move(replacement));
}
std::unique_ptr<DecodeStep> make_decode_strip(std::string content, std::size_t start, std::size_t stop) {
  return std::make_unique<DecodeStrip>(std::move(content), start, stop);
}
std::unique_ptr<DecodeStep> make_strip_until_text(std::string content, bool each) {
  return std::make_unique<StripUntilText>(std::move(content), each);
}
std::unique_ptr<DecodeStep> make_metaspace_decoder(std::string replacement, bool drops_first) {
  return std::make_unique<MetaspaceDecoder>(std::move(replacement), drops_first);
}

std::string decode(const Vocabulary& vocabulary, const Decoder& decoder, std::span<const Id> ids) {
  Texts texts;
  texts.reserve(ids.size());
  std::size_t num_bytes = 0;
  for (const Id id : ids) {
    if (!vocabulary.has(id))
      throw input_error("token {} is outside the vocabulary of {} tokens", id, vocabulary.size());
    texts.emplace_back(vocabulary.bytes(id));
    num_bytes += texts.back().size();
  }
  for (const auto& step : decoder.steps) step->apply(texts, max_grown_bytes(num_bytes));
  std::string all;
  for (const std::string& text : texts) {
    if (&text != &texts.front()) all += decoder.separator;
    all += text;
  }
  return all;
}

}  // namespace dt::tokenizer
