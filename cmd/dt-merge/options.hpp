#pragma once
// What dt-merge can be asked.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/options.hpp"
#include "base/tasks.hpp"

namespace dt::merge_tool {

struct Options {
  std::vector<std::string> checkpoints;  // one; several with --average
  std::string out;
  std::string format;                           // "hf", "h5", or "" where --out's name tells
  std::string dtype;                            // "fp32", "bf16", "fp16", or "": as stored
  std::optional<std::int64_t> max_shard_bytes;  // of hf
  bool clamp = false;
  bool with_optimizer = false;
  std::string average;
  std::vector<double> weights = {1};  // of the checkpoints, as --average says
  bool overwrite = false;
  std::optional<bool> share_tasks;
  Task task;  // as --share-tasks and the launcher say

  /// Without --format: where --out ends in .h5.
  bool is_h5() const;
  std::optional<DType> element_type() const;
};

/// "fp32", "bf16", …
std::string option_name(DType dtype);

OptionTable make_options(Options& options);

}  // namespace dt::merge_tool
