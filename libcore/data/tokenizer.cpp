#include "data/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/io/owned_folder.hpp"
#include "base/numeric/digest.hpp"
#include "base/text/suggest.hpp"
#include "tokenizer/encode/encoder.hpp"
#include "tokenizer/encode/tokenizer.hpp"
#include "tokenizer/files/hf_tokenizer.hpp"
#include "tokenizer/files/read_tokenizer.hpp"

namespace dt::data {

namespace {

using tokenizer::Vocabulary;

constexpr std::uint32_t byte_eos = 256;
constexpr std::string_view eos_text = "<|endoftext|>";
constexpr std::string_view bytes_file =
    "{\"format\": \"dt-tokenizer\", \"version\": 1, \"name\": \"bytes\", \"vocabulary_size\": 257, \"eos\": "
    "256}\n";

void write_tokenizer(const fs::path& folder, std::string_view text) {
  File file = OwnedFolder::open(folder).create(tokenizer_file_name);
  file.write(text);
  file.close();
}

class ByteEncoder final : public TextEncoder {
 public:
  void encode(std::string_view text, std::vector<std::uint32_t>& ids) override {
    const auto* begin = reinterpret_cast<const unsigned char*>(text.data());
    ids.insert(ids.end(), begin, begin + text.size());
  }
};

class ByteTokenizer final : public Tokenizer {
 public:
  const TokenizerIdentity& info() const override { return info_; }
  std::size_t safe_cut(std::string_view text) const override { return text.size(); }
  std::unique_ptr<TextEncoder> encoder() const override { return std::make_unique<ByteEncoder>(); }

  std::string decode(std::span<const std::uint32_t> ids) const override {
    std::string text;
    text.reserve(ids.size());
    for (const std::uint32_t id : ids) {
      if (id > byte_eos)
        throw input_error("token {} is outside the vocabulary of {} tokens", id, info_.vocabulary_size);
      if (id == byte_eos) {
        text += eos_text;
      } else {
        text += static_cast<char>(id);
      }
    }
    return text;
  }

  void save(const fs::path& folder) const override { write_tokenizer(folder, bytes_file); }

 private:
  TokenizerIdentity info_{"bytes", digest(bytes_file), byte_eos + 1, byte_eos};
};

class FileEncoder final : public TextEncoder {
 public:
  explicit FileEncoder(const tokenizer::Tokenizer& tokenizer) : encoder_(tokenizer) {}
  void encode(std::string_view text, std::vector<std::uint32_t>& ids) override { encoder_.encode(text, ids); }
  void encode_plain(std::string_view text, std::vector<std::uint32_t>& ids) override {
    encoder_.encode_without_specials(text, ids);
  }

 private:
  tokenizer::Encoder encoder_;
};

class FileTokenizer final : public Tokenizer {
 public:
  FileTokenizer(tokenizer::TokenizerFile file, std::optional<std::uint32_t> eos)
      : file_(std::move(file)),
        info_{file_tokenizer_name, digest(file_.text), file_.tokenizer->bpe.vocabulary.size(), eos} {}
  const TokenizerIdentity& info() const override { return info_; }
  bool splits_by_regex() const override {
    return file_.tokenizer->pre_tokenizer && file_.tokenizer->pre_tokenizer->runs_regex();
  }
  bool normalizes_by_regex() const override {
    return file_.tokenizer->normalizer && file_.tokenizer->normalizer->runs_regex();
  }
  std::size_t safe_cut(std::string_view text) const override {
    return tokenizer::safe_cut(*file_.tokenizer, text);
  }
  std::unique_ptr<TextEncoder> encoder() const override {
    return std::make_unique<FileEncoder>(*file_.tokenizer);
  }
  std::string decode(std::span<const std::uint32_t> ids) const override {
    return tokenizer::decode(file_.tokenizer->bpe.vocabulary, file_.tokenizer->decoder, ids);
  }
  void save(const fs::path& folder) const override { write_tokenizer(folder, file_.text); }

 private:
  tokenizer::TokenizerFile file_;
  TokenizerIdentity info_;
};

std::optional<std::uint32_t> eos_of(const tokenizer::Tokenizer& tokenizer, const std::string& path,
                                    const std::string& eos, bool needs_eos) {
  if (eos.empty()) {
    if (tokenizer.end_of_text != tokenizer::no_id) return tokenizer.end_of_text;
    if (!needs_eos) return std::nullopt;
    throw Error(ErrorKind::input, path + " does not define which token ends a document",
                "name it with --eos-token, or use --no-append-eos");
  }
  const auto& vocabulary = tokenizer.bpe.vocabulary;
  for (tokenizer::Id id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.bytes(id) == eos) return id;
  }
  throw input_error("{} has no token '{}' (--eos-token)", path, eos);
}

/// Returns the bytes of each id in a file of dt's own or of another program.
Vocabulary vocabulary_of(const fs::path& file) {
  const auto bytes = make_tokenizer("bytes");
  if (digest(read_file(file)) != bytes->info().digest)
    return tokenizer::read_tokenizer(file).tokenizer->bpe.vocabulary;
  Vocabulary vocabulary;
  for (std::uint32_t id = 0; id < bytes->info().vocabulary_size; ++id)
    vocabulary.set(id, bytes->decode(std::array{id}));
  return vocabulary;
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name, const std::string& pattern,
                                          const std::string& eos, bool needs_eos) {
  if (name == "bytes") {
    if (!pattern.empty() || !eos.empty())
      throw input_error("the tokenizer 'bytes' takes neither --tokenizer-pattern nor --eos-token");
    return std::make_unique<ByteTokenizer>();
  }
  if (!path_exists(name))
    throw Error(ErrorKind::input, fmt::format("the tokenizer '{}' is unknown", name),
                did_you_mean(name, std::vector<std::string>{"bytes"}) +
                    "expected 'bytes' or the path of a tokenizer file");
  tokenizer::TokenizerFile file = tokenizer::tokenizer_of_bytes(read_file_or_pipe(name), name, pattern, eos);
  const auto end = eos_of(*file.tokenizer, name, eos, needs_eos);
  return std::make_unique<FileTokenizer>(std::move(file), end);
}

std::unique_ptr<Tokenizer> tokenizer_of_text(std::string text, const std::string& origin, std::uint32_t eos) {
  auto parsed = std::make_unique<const tokenizer::Tokenizer>(tokenizer::read_hugging_face(text, origin));
  return std::make_unique<FileTokenizer>(tokenizer::TokenizerFile{std::move(text), std::move(parsed)}, eos);
}

std::unique_ptr<Tokenizer> open_tokenizer(const fs::path& folder, const TokenizerIdentity& info) {
  std::unique_ptr<Tokenizer> tokenizer;
  if (info.name == file_tokenizer_name) {
    tokenizer =
        std::make_unique<FileTokenizer>(tokenizer::read_tokenizer(folder / tokenizer_file_name), info.eos);
  } else {
    tokenizer = make_tokenizer(info.name);
  }
  if (!(tokenizer->info() == info)) {
    throw input_error("{} was made with another version of the tokenizer '{}'", folder.string(), info.name);
  }
  return tokenizer;
}

std::string token_mismatch(const fs::path& of_model, const fs::path& of_data) {
  if (digest(read_file(of_model)) == digest(read_file(of_data))) return {};
  const Vocabulary model = vocabulary_of(of_model), data = vocabulary_of(of_data);
  for (tokenizer::Id id = 0; id < std::min(model.size(), data.size()); ++id) {
    if (!model.has(id) || !data.has(id) || model.bytes(id) == data.bytes(id)) continue;
    return fmt::format("token {} is {:?} in {} and {:?} in {}", id, model.bytes(id), of_model.string(),
                       data.bytes(id), of_data.string());
  }
  return {};
}

}  // namespace dt::data
