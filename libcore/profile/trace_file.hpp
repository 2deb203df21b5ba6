#pragma once
// Writes a step as a file that ui.perfetto.dev and chrome://tracing draw. See FORMATS.md.

#include "base/io/files.hpp"
#include "profile/step_profile.hpp"

namespace dt::profile {

/// Returns "step-00000010.g1.rank-00003.json".
std::string trace_file_name(const StepProfile& profile);

/// Returns the step's rows as JSON, in Chrome's trace event format.
/// Units: microseconds since the common origin of all ranks' clocks.
std::string to_json(const StepProfile& profile);

/// Writes the trace into `folder` atomically. Makes the folder if it is missing.
/// Errors: environment.
void write_trace(const fs::path& folder, const StepProfile& profile);

}  // namespace dt::profile
