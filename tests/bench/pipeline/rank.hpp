#pragma once
// A rank of a pipeline: dt's own groups, storage and executor, with units of the caller's.

#include <functional>
#include <memory>
#include <vector>

#include "bench/pipeline/units.hpp"
#include "comm/communicator.hpp"
#include "parallel/engine/executor.hpp"
#include "parallel/schedule/builders.hpp"

namespace dt::bench {

/// A pipeline of one data-parallel lane, with micro-batches of one sequence and the same number of units on
/// each virtual stage.
struct Setting {
  model::Layout layout;
  int micro_batches = 16;
  int units_a_rank = 16;
  std::int64_t hidden = 8;
  std::int64_t sequence = 4;

  int num_units() const { return layout.pp * units_a_rank; }
  model::ModelSpec spec() const;
  /// Returns the layout with the units of its virtual stages.
  model::Layout laid_out() const;
  parallel::Pipeline pipeline() const;
};

/// Returns the actions of each rank in a step.
std::vector<parallel::ActionList> lists_of(const Setting& setting);

/// Returns a name such as "zero-bubble V=2".
std::string name_of(const model::Layout& layout);

using Wrap = std::function<std::unique_ptr<model::Unit>(std::unique_ptr<model::Unit>, int number)>;

class Rank {
 public:
  /// Creates the rank; `wrap` receives each of the decoder's units and returns the unit to use.
  Rank(const Setting& setting, comm::Communicator& world, const Wrap& wrap);

  /// Runs one training step; its optimizer does nothing.
  void step();

  int place() const { return local_.place().pp; }
  const parallel::ActionList& list() const { return list_; }
  const std::vector<std::unique_ptr<model::Unit>>& units() const { return units_; }
  const parallel::Executor& executor() const { return executor_; }

 private:
  Setting setting_;
  model::ModelSpec spec_;
  model::ParameterTable table_;
  parallel::LocalTable local_;
  parallel::ActionList list_;
  parallel::Groups groups_;
  parallel::LanePlan plan_;
  Context context_{1, Device::host()};
  std::vector<std::unique_ptr<model::Unit>> units_;
  parallel::ModelStorage storage_;
  parallel::Executor executor_;
  std::vector<std::int32_t> tokens_, positions_;
};

}  // namespace dt::bench
