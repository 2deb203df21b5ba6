#pragma once
// The options of dt-merge.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/options.hpp"
#include "base/cli/tasks.hpp"
#include "base/numeric/dtype.hpp"

namespace dt::merge_tool {

struct Options {
  std::vector<std::string> checkpoints;  // one, or several with --average
  std::string out;
  std::string format;                           // "hf", "h5", or "" to go by --out
  std::string dtype;                            // "fp32", "bf16", "fp16", or "" for the stored type
  std::optional<std::int64_t> max_shard_bytes;  // for hf
  bool clamp = false;
  bool with_optimizer = false;
  std::string average;
  std::vector<double> weights = {1};  // weights of the checkpoints, from --average
  bool overwrite = false;
  std::optional<bool> share_tasks;
  Task task;  // from --share-tasks and the launcher

  /// Returns whether the format is h5. Without --format, a name ending in .h5 selects it.
  bool is_h5() const;
  std::optional<DType> element_type() const;
};

/// Returns the type's name in options: "fp32", "bf16", …
std::string option_name(DType dtype);

OptionTable make_options(Options& options);

}  // namespace dt::merge_tool
