#pragma once
// Shared by the tests of staging.

#include <string>
#include <unistd.h>
#include <vector>

#include "data/read/staging.hpp"
#include "data/test_dataset.hpp"

namespace dt_test {

/// Datasets a, b, c of some kilobytes, in shards of 1000 tokens.
struct Datasets : Folder {
  Datasets() {
    for (const char* name : {"a", "b", "c"}) {
      put(*this / (std::string(name) + ".txt"), std::string(3500, *name));
      auto options = plain_options({*this / (std::string(name) + ".txt")});
      options.shard_tokens = 1000;
      make(*this / name, options);
    }
  }
  dt::data::StageRequest request() const { return {*this / "local/stage", {}, {}, {}}; }
  dt::FileLock locked() const {
    dt::data::stage_dataset(*this / "b", request());
    dt::FileLock copying;
    REQUIRE(copying.try_lock(own() / "dt-stage.lock") == dt::FileLock::Outcome::acquired);
    return copying;
  }
  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(*this / "a")) bytes += entry.file_size();
    return bytes;
  }
  std::filesystem::path own() const {
    return *this / "local/stage" / ("dt-staged-" + std::to_string(::geteuid()));
  }
  /// Returns the names in the user's folder of the storage, except the lock's.
  std::vector<std::string> stored() const {
    std::vector<std::string> names;
    if (!std::filesystem::exists(own())) return names;
    for (const auto& entry : std::filesystem::directory_iterator(own())) {
      if (entry.path().extension() != ".lock") names.push_back(entry.path().filename().string());
    }
    return names;
  }
};

/// Makes the copy and stops using it.
inline std::filesystem::path stage(const std::filesystem::path& dataset,
                                   const dt::data::StageRequest& request) {
  return dt::data::stage_dataset(dataset, request).folder;
}

}  // namespace dt_test
