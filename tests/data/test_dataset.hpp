#pragma once
// Datasets made from given documents, shared by the tests of data.

#include <cstdint>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <vector>

#include "base/test_folder.hpp"
#include "data/build/make_dataset.hpp"
#include "data/read/token_dataset.hpp"
#include "data/read/verify_dataset.hpp"

namespace dt_test {

inline dt::data::MakeOptions plain_options(std::vector<std::string> inputs) {
  dt::data::MakeOptions options;
  options.inputs = std::move(inputs);
  options.shuffle = false;
  options.append_eos = false;
  options.val_fraction = 0;
  options.tool = "test";
  return options;
}

inline dt::data::DatasetFile make(const std::filesystem::path& folder, const dt::data::MakeOptions& options) {
  return dt::data::make_dataset(folder, options, [](dt::data::MakePhase, std::uint64_t, std::uint64_t) {})
      .dataset;
}

inline std::vector<std::int32_t> tokens_of(const dt::data::TokenDataset& dataset, dt::data::Split split) {
  std::vector<std::int32_t> tokens(dataset.split(split).tokens);
  dataset.read(split, 0, tokens);
  return tokens;
}

/// Returns byte tokens as text, with '|' for EOS.
inline std::string text_of(const dt::data::TokenDataset& dataset, dt::data::Split split) {
  std::string text;
  for (const std::int32_t token : tokens_of(dataset, split))
    text += token == 256 ? '|' : static_cast<char>(token);
  return text;
}

/// Makes `folder`/out of the texts; each text is a document of its own, unless it is empty.
inline dt::data::TokenDataset make_documents(const Folder& folder, const std::vector<std::string>& documents,
                                             dt::data::MakeOptions options = plain_options({})) {
  constexpr const char* separator = "\n";
  std::string text;
  for (const std::string& document : documents) text += document + separator;
  put(folder / "documents", text);
  options.inputs = {folder / "documents"};
  options.read.document_separator = separator;
  options.overwrite = true;
  make(folder / "out", options);
  return dt::data::TokenDataset(folder / "out");
}

/// Returns options for JSON lines of which each range of the inputs has a few hundred.
inline dt::data::MakeOptions lines_in_ranges(const std::filesystem::path& file) {
  std::string lines;
  for (int i = 0; i < 20'000; ++i) lines += fmt::format("{{\"text\": \"document {}\"}}\n", i % 15'000);
  put(file, lines);
  dt::data::MakeOptions options = plain_options({file});
  options.shuffle = options.append_eos = options.deduplicate = true;
  options.val_fraction = 0.1;
  options.shard_tokens = 50'000;
  options.read.chunk_bytes = 1000;
  options.min_range_bytes = 10'000;
  options.step = "1.0";
  return options;
}

/// Returns what is wrong with a dataset.
inline std::vector<std::string> problems_of(const std::filesystem::path& folder) {
  std::vector<std::string> texts;
  for (const dt::data::DatasetProblem& problem :
       dt::data::verify_dataset(folder, [](std::uint64_t, std::uint64_t) {}))
    texts.push_back(problem.what);
  return texts;
}

/// Changes the byte at `offset`, which counts from the end if it is negative.
inline void damage(const std::filesystem::path& path, std::int64_t offset) {
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::int64_t at = offset < 0 ? size + offset : offset;
  file.seekg(at);
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(at);
  file.put(byte);
}

}  // namespace dt_test
