#pragma once
// A model in memory with its executor, for training and evaluation.

#include <memory>
#include <optional>
#include <vector>

#include "convert/weight_source.hpp"
#include "data/read/loader.hpp"
#include "model/units/unit.hpp"
#include "parallel/engine/executor.hpp"
#include "parallel/state/buffer_pool.hpp"
#include "parallel/state/gradient_lanes.hpp"
#include "parallel/state/model_storage.hpp"
#include "plan/plan.hpp"
#include "tensor/context.hpp"
#include "train/step/micro_batches.hpp"

namespace dt::train {

class ModelRuntime {
 public:
  enum class Purpose { training, evaluation };
  /// Weights are zero until one of the functions below fills them. The groups must outlive this
  /// object.
  ModelRuntime(const plan::Plan& plan, Purpose purpose, const parallel::Groups& groups);

  void initialise_weights(std::uint64_t seed, const plan::ParameterSettings& settings = {});
  void load_weights(const convert::WeightSource& source);

  const Context& context() const { return context_; }
  const model::ModelSpec& spec() const { return spec_; }
  const parallel::LocalTable& local() const { return local_; }
  int num_units() const { return static_cast<int>(units_.size()); }
  const std::string& unit_name(int unit) const { return table_.units()[static_cast<std::size_t>(unit)].name; }
  std::vector<model::AuxiliaryLoss> auxiliary_losses(int unit) const {
    return units_[static_cast<std::size_t>(unit)]->auxiliary_losses();
  }
  /// Returns those of all units; see model::auxiliary_losses.
  std::vector<model::AuxiliaryLoss> auxiliary_losses() const { return model::auxiliary_losses(units_); }
  parallel::ModelStorage& storage() { return storage_; }
  parallel::Executor& executor() { return executor_; }
  /// Returns this rank's part of a step. Only for training.
  const parallel::LanePlan& lanes() const { return *lanes_; }

  /// Returns the batch's rows on the rank's device as micro-batches of `size` samples; the last may
  /// be smaller. The batch must outlive them and the work with them. If ranks divide sequences, the
  /// batch is reduced to this rank's part.
  /// Errors: internal if ids are outside the model's vocabulary.
  MicroBatches micro_batches(data::Batch& batch, std::int64_t size);

 private:
  void reserve_scratch(const plan::Plan& plan);

  model::ModelSpec spec_;
  model::ParameterTable table_;
  parallel::LocalTable local_;
  Context context_;
  std::optional<comm::ScopedDevice> scoped_device_;
  std::optional<parallel::LanePlan> lanes_;
  parallel::CommTensorParallelOps tensor_parallel_ops_;
  std::vector<std::unique_ptr<model::Unit>> units_;
  parallel::ModelStorage storage_;
  parallel::Executor executor_;
  parallel::BufferPool batch_buffers_;  // memory of batches
  PinnedUploader uploader_;             // for copies of batches to the device
  std::int64_t num_positions_;          // positions in a micro-batch
  Buffer positions_;                    // 0 … T−1 for each sample
};

}  // namespace dt::train
