#pragma once
// Where ranks compute: on the CPUs of their hosts, or each on a GPU.

#include "comm/ranks.hpp"
#include "plan/launch.hpp"
#include "plan/settings.hpp"

namespace dt::plan {

/// Called by all ranks together: as find_launch of launch.hpp, with the device (see comm/gpus.hpp). Rank 0
/// says which, and warns where ranks share one or have different ones, or where attention has no library.
/// From then on a GPU is waited for no longer than messages are (Settings::comm_timeout). Errors: those of
/// comm::choose_devices; usage, of options that have no use on it; environment, of a GPU that does not
/// answer, or where a library that computes on it is missing.
Launch find_launch(const Settings& settings, const comm::Ranks& ranks, int num_ranks);

}  // namespace dt::plan
