#pragma once
// Verification of a dataset on disk.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/io/files.hpp"

namespace dt::data {

/// A defect of a dataset.
struct DatasetProblem {
  std::string what;            // text that names the file
  bool is_unreadable = false;  // no damage: a permission or a limit prevents reading
};

/// Reads the whole dataset and returns its defects. Checks every block against its digest, every
/// token against the vocabulary, and document offsets. Checks shards, tokenizer.json and
/// dataset.json against each other. `progress` receives the bytes of tokens read so far and in
/// total.
/// Errors: input if dataset.json is missing.
std::vector<DatasetProblem> verify_dataset(const fs::path& folder,
                                           const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace dt::data
