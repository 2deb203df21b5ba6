#pragma once
// Finds the tokenizer of a checkpoint's model.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "checkpoint/manifest.hpp"

namespace dt::merge_tool {

/// The result of the search: a tokenizer.json, or why there is none ("" if nothing leads to one).
/// If the data are found, also the token that ends their documents.
struct FoundTokenizer {
  std::filesystem::path file;
  std::string missing_reason;
  std::optional<std::int64_t> end_of_text;
};

/// Finds the tokenizer of the dataset that run.json, two folders above the checkpoint, names last.
/// A relative path is tried as it stands, then from the folder that holds the run. The dataset must
/// match the manifest's digest.
/// Errors: those of reading, except for datasets that are gone, have changed or may not be read: a
/// model without its tokenizer is complete.
FoundTokenizer find_tokenizer(const std::filesystem::path& checkpoint, const checkpoint::Manifest& manifest);

}  // namespace dt::merge_tool
