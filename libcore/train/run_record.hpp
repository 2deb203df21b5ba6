#pragma once
// run.json: what was asked when the run began, and each change on resume; how it was laid over ranks.

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/options.hpp"
#include "model/layout.hpp"

namespace dt::train {

struct OptionChange {
  std::string option;
  std::string from;
  std::string to;
};

/// As which the last start gave an option; "" where none did.
std::string recorded_option(const fs::path& run, const std::string& name);

/// Writes run.json where there is none; otherwise appends what differs from the last known values as changes
/// of this generation, and the layout where it is another than the last start's. Returns the changes. Atomic:
/// a crash leaves the old file or the new one.
std::vector<OptionChange> record_run(const fs::path& run, const std::vector<OptionValue>& asked,
                                     const model::Layout& layout, std::int64_t generation, std::int64_t step);

}  // namespace dt::train
