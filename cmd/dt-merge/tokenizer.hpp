#pragma once
// The tokenizer that belongs to a checkpoint's model.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "checkpoint/manifest.hpp"

namespace dt::merge_tool {

/// The search's result: a tokenizer.json, or why there is none ("" where nothing leads to one); and where
/// the data are found, the token that ends their documents.
struct FoundTokenizer {
  std::filesystem::path file;
  std::string why_not;
  std::optional<std::int64_t> end_of_text;
};

/// Of the dataset that run.json, two folders above the checkpoint, names last: as it stands there or, where
/// that is relative, beside the run too. It must be the dataset that the manifest's digest tells of. Errors:
/// of reading, but for datasets that are gone, have changed or may not be read: a model without its tokenizer
/// is whole.
FoundTokenizer find_tokenizer(const std::filesystem::path& checkpoint, const checkpoint::Manifest& manifest);

}  // namespace dt::merge_tool
