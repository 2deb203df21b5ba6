#pragma once
// Whether a dataset on disk is still what was written.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/files.hpp"

namespace dt::data {

/// One thing that is wrong with a dataset.
struct DatasetProblem {
  std::string what;            // naming its file
  bool is_unreadable = false;  // not damage: a permission or a limit keeps the file from being read
};

/// Reads all of it: every block against its digest, every token against the vocabulary, document offsets, and
/// shards, tokenizer.json and dataset.json against each other. Returns what is wrong. `progress` takes the
/// bytes of tokens read so far and in all. Errors: input, a missing dataset.json.
std::vector<DatasetProblem> verify_dataset(const fs::path& folder,
                                           const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace dt::data
