#include "data/read/same_tokens.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/numeric/digest.hpp"
#include "data/tokenizer.hpp"
#include "tokenizer/files/read_tokenizer.hpp"

namespace dt::data {

namespace {

using tokenizer::Vocabulary;

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

std::string token_mismatch(const fs::path& of_model, const fs::path& of_data) {
  if (digest(read_file(of_model)) == digest(read_file(of_data))) return {};
  const Vocabulary model = vocabulary_of(of_model), data = vocabulary_of(of_data);
  for (tokenizer::Id id = 0; id < std::min(model.size(), data.size()); ++id) {
    if (!model.has(id) || !data.has(id) || model.bytes(id) == data.bytes(id)) continue;
    return fmt::format("token {} is {:?} to {}, and {:?} to {}", id, model.bytes(id), of_model.string(),
                       data.bytes(id), of_data.string());
  }
  return {};
}

}  // namespace dt::data
