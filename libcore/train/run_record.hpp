#pragma once
// run.json: what was asked when the run began, and each change on resume; how it was laid over ranks.

#include <cstdint>
#include <map>
#include <optional>
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

/// An option as a run's last start left it.
struct RecordedOption {
  std::string value;            // as text; "" when unset
  std::optional<bool> given{};  // none where an older dt did not say
  std::string path{};           // the value with absolute paths; "" where it has none or none were kept
  /// Whether it was given; `initial` is the value of an option that is left out.
  bool is_given(const std::string& initial) const {
    return given.value_or(value != initial) && !value.empty();
  }
};
using RecordedOptions = std::map<std::string, RecordedOption>;

/// Options by name as the last start left them; none where there is no run.json. Error{input}: it is torn, or
/// something else.
RecordedOptions recorded_options(const fs::path& run);

/// As which the last start gave an option; "" where none did, or run.json is torn.
std::string recorded_option(const fs::path& run, const std::string& name);

/// Checks before a run is claimed that record_run() will take its run.json. Errors: input, where that is
/// whole and not dt's, or of another version.
void check_record(const fs::path& run);

/// Writes run.json where there is none; otherwise appends what differs from the last known values as changes
/// of this generation, and the layout where it is another than the last start's. Where the start `goes_on`,
/// an option that it leaves out and may inherit is as it was. A torn run.json is renamed and begun anew.
/// Returns the changes. Atomic: a crash leaves the old file or the new one.
std::vector<OptionChange> record_run(const fs::path& run, const std::vector<OptionValue>& asked, bool goes_on,
                                     const model::Layout& layout, std::int64_t generation, std::int64_t step);

}  // namespace dt::train
