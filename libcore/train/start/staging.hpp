#pragma once
// Copies of a run's datasets on the nodes (--stage-dir), and the shards that each rank of a node
// opens first.

#include <functional>
#include <vector>

#include "comm/ranks.hpp"
#include "data/read/staging.hpp"
#include "data/read/token_dataset.hpp"
#include "plan/requests.hpp"

namespace dt::train {

struct StagedData {
  /// The copy of each dataset of --data that this rank reads; empty: all are read from --data.
  std::vector<data::DatasetCopy> copies = {};
  data::ShardSubset shards_to_read_ahead =
      {};  // this rank's subset among the ranks of its host; all shards of copies
  std::vector<data::StagedDataset> locks = {};  // copies that this rank protects from removal
};

/// Finds or makes the copies on each host. The host's first rank with --stage-dir does so, and the
/// others wait without a time limit. A dataset that cannot be copied is read from --data, with a
/// warning. So is one whose copy turns out to be damaged; the next run copies it again. `stop` is
/// called during copies, and ends them by returning true.
/// Collective: all ranks, also those without --stage-dir.
StagedData stage_data(const plan::DataRequest& request, const std::function<bool()>& stop,
                      const comm::Ranks& ranks);

}  // namespace dt::train
