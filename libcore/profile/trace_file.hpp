#pragma once
// A step as a file that ui.perfetto.dev and chrome://tracing draw. See FORMATS.md.

#include "base/files.hpp"
#include "profile/step_profile.hpp"

namespace dt::profile {

/// "step-00000010.g1.rank-00003.json"
std::string trace_file_name(const StepProfile& profile);

/// Its rows as JSON, in Chrome's trace event format. Times are microseconds since the moment that all ranks'
/// clocks have in common.
std::string to_json(const StepProfile& profile);

/// Into `folder`, which is made where it is missing; atomic. Errors: environment.
void write_trace(const fs::path& folder, const StepProfile& profile);

}  // namespace dt::profile
