#pragma once
// What dt-merge can be asked.

#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"

namespace dt::merge_tool {

struct Options {
  std::vector<std::string> checkpoints;  // exactly one
  std::string out;
  std::string format;  // "hf", "h5", or "" where --out's name tells
  bool overwrite = false;

  /// Without --format: where --out ends in .h5.
  bool is_h5() const;
};

OptionTable make_options(Options& options);

}  // namespace dt::merge_tool
