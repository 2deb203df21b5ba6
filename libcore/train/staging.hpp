#pragma once
// Where a run reads its datasets from (--stage-dir), and what of them each rank of a node looks at first.

#include <functional>
#include <vector>

#include "base/files.hpp"
#include "comm/ranks.hpp"
#include "data/staging.hpp"
#include "data/token_dataset.hpp"
#include "plan/settings.hpp"

namespace dt::train {

struct StagedData {
  /// That this rank reads of each dataset of --data; empty: all are read where --data says.
  std::vector<data::DatasetCopy> copies = {};
  data::ShardShare share = {};                 // of this rank among those of its host; all of copies
  std::vector<data::StagedDataset> held = {};  // the copies that this rank keeps from removal
};

/// Called by all ranks together, whatever they think of --stage-dir: the first of each host that has it finds
/// or makes the copies, the others wait for it, however long that takes. What cannot be copied is read where
/// --data says, with a warning. So is a copy that turns out to be damaged, which the next run makes anew.
/// `stop`: asked while it copies; makes it give up.
StagedData stage_data(const plan::Settings& settings, const std::function<bool()>& stop,
                      const comm::Ranks& ranks);

}  // namespace dt::train
