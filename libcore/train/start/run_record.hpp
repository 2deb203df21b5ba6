#pragma once
// run.json: the options at the start of the run, each change on resume, and the layouts over ranks.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/options.hpp"
#include "base/io/files.hpp"
#include "model/layout.hpp"

namespace dt::train {

struct OptionChange {
  std::string option;
  std::string from;
  std::string to;
};

/// An option as the run's last start left it.
struct RecordedOption {
  std::string value;            // as text; "" if unset
  std::optional<bool> given{};  // absent if an older dt did not record it
  std::string path{};           // value with absolute paths; "" if it has none or none were recorded
  /// Returns whether the option was given. `initial` is the value of an option that is left out.
  bool is_given(const std::string& initial) const {
    return given.value_or(value != initial) && !value.empty();
  }
};
using RecordedOptions = std::map<std::string, RecordedOption>;

/// Returns the options by name as the last start left them; empty if there is no run.json.
/// Errors: input if it is incomplete or another file.
RecordedOptions recorded_options(const fs::path& run);

/// Returns an option's value at the last start; "" if there was none or run.json is incomplete.
std::string recorded_option(const fs::path& run, const std::string& name);

/// Checks, before a run is claimed, that record_run() will accept its run.json.
/// Errors: input if it is complete but not dt's, or of another version.
void check_record(const fs::path& run);

/// Writes run.json if there is none. Otherwise appends the options that differ from the last known
/// values as changes of this generation, and the layout if it differs from the last start's. If the
/// start `goes_on`, an option that it leaves out and may inherit is unchanged. An incomplete
/// run.json is renamed and written anew. Returns the changes.
/// After a crash: the old file or the new one is there.
std::vector<OptionChange> record_run(const fs::path& run, const std::vector<OptionValue>& asked, bool goes_on,
                                     const model::Layout& layout, std::int64_t generation, std::int64_t step);

}  // namespace dt::train
