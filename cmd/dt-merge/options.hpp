#pragma once
// The options of dt-merge and what they run.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/console.hpp"
#include "base/cli/manual.hpp"
#include "base/cli/options.hpp"
#include "base/cli/tasks.hpp"
#include "base/numeric/dtype.hpp"

namespace dt::merge_tool {

enum class OutputFormat { hf, h5 };
constexpr auto enum_names(OutputFormat) {
  return std::to_array<EnumName<OutputFormat>>({{"hf", OutputFormat::hf}, {"h5", OutputFormat::h5}});
}

struct Options {
  std::vector<std::string> checkpoints;  // one, or several with --average
  std::string out;
  std::optional<OutputFormat> format;           // none: --out decides
  std::optional<DType> dtype;                   // none: the stored type
  std::optional<std::int64_t> max_shard_bytes;  // for hf
  bool clamp = false;
  bool with_optimizer = false;
  bool ema = false;
  std::string average;
  std::vector<double> weights = {1};  // weights of the checkpoints, from --average
  bool overwrite = false;
  std::optional<bool> share_tasks;
  Task task;  // from --share-tasks and the launcher

  /// Returns the format. Without --format, a name ending in .h5 selects h5.
  OutputFormat output_format() const;
  bool is_h5() const { return output_format() == OutputFormat::h5; }
};

OptionTable make_options(Options& options);

/// Merges the checkpoints, shows progress, and returns the exit code. Writes nothing to stdout, or with
/// --json one object that describes the output.
int run(const Options& options, Console& console);

/// Returns the prose of the man page.
Manual manual();

}  // namespace dt::merge_tool
