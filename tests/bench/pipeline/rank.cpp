#include "bench/pipeline/rank.hpp"

#include <fmt/format.h>
#include <numeric>

#include "base/numeric/integer.hpp"
#include "model/initialise.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::bench {

using namespace parallel;

namespace {

std::vector<std::unique_ptr<model::Unit>> wrapped(std::vector<std::unique_ptr<model::Unit>> units,
                                                  const Wrap& wrap) {
  for (std::size_t u = 0; u < units.size(); ++u) units[u] = wrap(std::move(units[u]), static_cast<int>(u));
  return units;
}

}  // namespace

model::ModelSpec Setting::spec() const {
  model::ModelSpec spec = model::load_model_spec("llama-tiny");
  spec.layers = num_units() - 2;
  spec.hidden = hidden;
  spec.query_heads = spec.key_value_heads = 2;
  spec.head_dim = hidden / 2;
  spec.mlp_hidden = 2 * hidden;
  spec.vocabulary = 8;
  spec.tied = false;
  return spec;
}

model::Layout Setting::laid_out() const {
  model::Layout all = layout;
  const std::vector<int> counts(to_index(layout.pp * layout.virtual_stages),
                                units_a_rank / layout.virtual_stages);
  all.stages = stage_units_of(stages_from_counts(counts, num_units()), schedule_of(layout, 1));
  return all;
}

Pipeline Setting::pipeline() const {
  return pipeline_of(laid_out(), num_units(), micro_batches, false);
}

std::vector<ActionList> lists_of(const Setting& setting) {
  return build_training_steps({.num_units = setting.num_units(),
                               .num_micro_batches = setting.micro_batches,
                               .max_micro_batches = setting.micro_batches},
                              setting.pipeline());
}

std::string name_of(const model::Layout& layout) {
  const std::string name(dt::name_of(layout.schedule));
  return layout.virtual_stages > 1 ? fmt::format("{} V={}", name, layout.virtual_stages) : name;
}

Rank::Rank(const Setting& setting, comm::Communicator& world, const Wrap& wrap)
    : setting_(setting),
      spec_(setting.spec()),
      table_(spec_),
      local_(table_, setting.laid_out(), setting.layout.coordinates_of(world.rank())),
      list_(lists_of(setting)[to_index(local_.place().pp)]),
      groups_(setting.laid_out(), world, channels_of(setting.pipeline())),
      plan_(LanePlan(setting.micro_batches, 1).of_rank(0, 1)),
      units_(wrapped(model::make_units(context_.device(), spec_, table_, DType::f32), wrap)),
      storage_(context_.device(), local_, Precision{}, &plan_, groups_, {}),
      executor_(context_, units_, storage_),
      tokens_(to_index(static_cast<int>(setting.sequence)), 1),
      positions_(tokens_.size()) {
  std::iota(positions_.begin(), positions_.end(), 0);
  for (const LocalParam& param : local_.params()) {
    storage_.set_weights(context_, param, [&](const Piece& piece, const Tensor& values) {
      model::initialise(local_.spec(param), 7, piece, values, 1);
    });
  }
  context_.set_poll([this] { executor_.poll(); });
}

void Rank::step() {
  model::MicroBatch one;
  one.batch = 1;
  one.sequence = setting_.sequence;
  one.tokens_R = one.labels_R = host_tensor(tokens_);
  one.positions_R = host_tensor(positions_);
  const std::vector<model::MicroBatch> micro_batches(to_index(setting_.micro_batches), one);
  const StepHooks hooks{.loss = {}, .control = [] {}, .step = [this] { storage_.weights().mark_updated(); }};
  executor_.run(list_, micro_batches, 0, hooks);
}

}  // namespace dt::bench
