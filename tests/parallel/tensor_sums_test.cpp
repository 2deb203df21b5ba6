// Tests the gradients of one step in which parameters are split, with ranks as threads. A gradient of
// which each tensor-parallel rank has only a part is summed over the ranks that have the rest. The
// gradients of experts are summed over the ranks that have the same ones.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "base/numeric/integer.hpp"
#include "comm/threads/thread_group.hpp"
#include "model/model_spec.hpp"
#include "parallel/one_rank.hpp"
#include "parallel/state/comm_volume.hpp"
#include "parallel/state/device_sums.hpp"
#include "parallel/state/gradient_lanes.hpp"
#include "parallel/state/model_storage.hpp"
#include "support/expert_table.hpp"

using namespace dt;
using namespace dt::parallel;
using namespace dt_test;

namespace {

constexpr std::int64_t num_micro_batches = 4;

/// Returns a model with dimensions that are cut unevenly or not at all, fewer key-value heads than
/// ranks, and tables that ZeRO divides.
model::ModelSpec spec_of(std::int64_t key_value_heads) {
  model::ModelSpec s = model::load_model_spec("gpt2-124m");
  s.layers = 1;
  s.hidden = 24;
  s.query_heads = 4;
  s.key_value_heads = key_value_heads;
  s.head_dim = 6;
  s.mlp_hidden = 131;
  s.vocabulary = 613;
  s.max_positions = 11;
  s.feed_forward = &model::swiglu_mlp();
  return s;
}

struct Setting {
  model::Layout layout{};
  std::int64_t key_value_heads = 2;
  Precision precision{};
  bool has_experts = false;
};

model::ParameterTable table_of(const Setting& setting) {
  if (setting.has_experts) return expert_table({.key_value_heads = setting.key_value_heads});
  return model::ParameterTable(spec_of(setting.key_value_heads));
}

LanePlan plan_of(const model::Layout& layout, int data_rank) {
  return LanePlan(num_micro_batches, 4).of_rank(data_rank, layout.dp);
}

/// Returns the gradient of an element of a global parameter. If ranks have parts of the gradient,
/// each rank's part has its own value.
float term(int unit, int param, std::int64_t micro_batch, std::int64_t element, int tp_rank) {
  const std::int64_t n = unit * 31 + param * 13 + micro_batch * 17 + element * 7 + tp_rank * 43;
  return 1.0F / static_cast<float>(1 + n % 101) - 0.01F;
}

/// The gradient of every element, as expected and as ranks hold it. The expected values leave aside
/// the order in which more than two ranks are summed.
struct Whole {
  std::vector<std::vector<float>> expected;
  std::vector<std::vector<float>> found;
  std::vector<std::vector<bool>> known;
  ExactSum squared_norm;
  int num_wrong = 0;       // elements that differ in any bit from another rank's
  int num_padding = 0;     // padding elements that are not zero
  bool is_traffic = true;  // every rank moved as many bytes as predicted
};

std::vector<int> ranks_with_parts(const model::ParamSpec& param, const model::Layout& layout, int tp_rank) {
  const TensorSum sum = tensor_sum_of(param, layout);
  std::vector<int> ranks;
  for (int rank = 0; rank < layout.tp; ++rank) {
    const bool is_replica =
        shard_piece(param, layout, {.tp = rank}) == shard_piece(param, layout, {.tp = tp_rank});
    if (sum == TensorSum::all || (sum == TensorSum::replicas && is_replica)) ranks.push_back(rank);
  }
  return sum == TensorSum::none ? std::vector{0} : ranks;
}

/// Returns the sum over a step's lanes, whichever data-parallel ranks have them.
float sum_of_lanes(int unit, int param, std::int64_t element, int tp_rank) {
  static_assert(num_micro_batches == 4);
  const auto of = [&](std::int64_t m) { return term(unit, param, m, element, tp_rank); };
  return (of(0) + of(1)) + (of(2) + of(3));
}

/// Adds the expected gradients: lanes first, then tensor-parallel ranks, then the holders of a
/// table. They are those of experts that are not divided.
void add_expected(const model::ParameterTable& table, model::Layout layout, Whole& whole) {
  layout.ep = 1;
  for (int unit = 0; unit < static_cast<int>(table.units().size()); ++unit) {
    for (const int p : table.units()[to_index(unit)].params) {
      const model::ParamSpec& param = table.params()[to_index(p)];
      for (int tp_rank = 0; tp_rank < layout.tp; ++tp_rank) {
        if (!owns_shard(param, layout, {.tp = tp_rank})) continue;
        const Piece slice = shard_piece(param, layout, {.tp = tp_rank});
        const std::vector<int> ranks = ranks_with_parts(param, layout, tp_rank);
        for (const CopyRange& run : intersect(slice, Piece::whole(param.shape))) {
          for (std::int64_t e = run.target; e < run.target + run.count; ++e) {
            float sum = 0;
            for (const int rank : ranks) sum += sum_of_lanes(unit, p, e, rank);
            whole.expected[to_index(p)][static_cast<std::size_t>(e)] += sum;
          }
        }
      }
    }
  }
}

/// Returns the micro-batches whose gradients a rank adds with micro-batch `m`. An expert's rank computes
/// the tokens of the micro-batches that all ranks of its group have at this turn.
std::vector<std::int64_t> micro_batches_of(const LocalTable& local, const LocalParam& param, std::int64_t m) {
  const model::Layout& layout = local.layout();
  if (local.group(param.group).reduction != model::ReductionAxis::expert_data) return {m};
  const int own = layout.data_rank(local.place()), first = own - layout.expert_rank(local.place());
  const std::int64_t turn = m - plan_of(layout, own).first_micro_batch();
  std::vector<std::int64_t> micro_batches;
  for (int rank = first; rank < first + layout.ep; ++rank)
    micro_batches.push_back(plan_of(layout, rank).first_micro_batch() + turn);
  return micro_batches;
}

/// Returns what a rank adds to an element's gradient: the sum over micro-batches, in the order of ranks.
float term_of_rank(int unit, int param, std::span<const std::int64_t> micro_batches, std::int64_t element,
                   int tp_rank) {
  if (micro_batches.size() == 1) return term(unit, param, micro_batches[0], element, tp_rank);
  std::vector<float> terms;
  for (const std::int64_t m : micro_batches) terms.push_back(term(unit, param, m, element, tp_rank));
  for (std::size_t step = 1; step < terms.size(); step *= 2) {
    for (std::size_t i = 0; i < terms.size(); i += 2 * step) terms[i] += terms[i + step];
  }
  return terms.front();
}

void add_terms(ModelStorage& storage, const Context& context, int unit, std::int64_t m) {
  const LocalTable& local = storage.local();
  const std::vector<Tensor> gradients = storage.gradients().unit_gradients(context, unit, m);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const LocalParam& param = local.param(local.params_of(unit)[i]);
    const bool is_part = tensor_sum_of(local.spec(param), local.layout()) != TensorSum::none;
    const std::vector<std::int64_t> micro_batches = micro_batches_of(local, param, m);
    const auto values = gradients[i].span<float>();
    for (const CopyRange& run : intersect(Piece::whole(param.piece.global), param.piece)) {
      for (std::int64_t e = 0; e < run.count; ++e)
        values[static_cast<std::size_t>(run.target + e)] +=
            term_of_rank(unit, param.param, micro_batches, run.source + e, is_part ? local.place().tp : 0);
    }
  }
  storage.gradients().finish_micro_batch(context, unit, m);
}

/// Records this rank's part of a group.
void tell_group(const ModelStorage& storage, const LocalGroup& group, int index, Whole& whole) {
  const auto values = storage.group_gradient(index).span<float>();
  std::vector<bool> is_padding(values.size(), true);
  for (const int p : group.params) {
    const LocalParam& param = storage.local().param(p);
    for (const CopyRange& run : intersect(param.owned_piece, Piece::whole(param.piece.global))) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        const auto here = static_cast<std::size_t>(param.owned_offset + run.source + i);
        const auto element = static_cast<std::size_t>(run.target + i);
        is_padding[here] = false;
        float& found = whole.found[to_index(param.param)][element];
        if (whole.known[to_index(param.param)][element])
          whole.num_wrong += std::memcmp(&found, &values[here], sizeof(float)) == 0 ? 0 : 1;
        found = values[here];
        whole.known[to_index(param.param)][element] = true;
      }
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    whole.num_padding += is_padding[i] && values[i] != 0 ? 1 : 0;
}

std::int64_t all_reduced_bytes(comm::Communicator& world) {
  return world.engine().recorder().bytes(comm::OperationKind::all_reduce);
}

/// Runs one rank's step. Returns whether its last sums moved as many bytes as predicted.
bool make_step(const Setting& setting, const StepShape& shape, ModelStorage& storage, const Context& context,
               comm::Communicator& world) {
  const ActionList list = build_training_step(shape);
  storage.gradients().start_step(context);
  for (const Action& action : list) {
    if (action.kind == ActionKind::backward_weight)
      add_terms(storage, context, action.unit, action.micro_batch);
    if (action.kind == ActionKind::reduce) storage.gradients().reduce(context, action.unit);
  }
  const std::int64_t before = all_reduced_bytes(world);
  storage.gradients().complete(context);
  const CommVolume comm_volume{storage.local(), setting.precision};
  const std::vector<std::int64_t> bytes = comm_volume.bytes_of(list);
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < list.size(); ++i)
    expected += list[i].kind == ActionKind::control ? bytes[i] : 0;
  return all_reduced_bytes(world) - before == expected;
}

int run_rank(const Setting& setting, const model::ParameterTable& table, comm::Communicator& world,
             Whole& whole, std::mutex& mutex) {
  const model::Layout& layout = setting.layout;
  const Context context(1, Device::host());
  const Groups groups(layout, world, {}, setting.key_value_heads);
  const LocalTable local(table, layout, layout.coordinates_of(world.rank()));
  const LanePlan plan = plan_of(layout, local.place().dp);
  ModelStorage storage(context.device(), local, setting.precision, &plan, groups, {});
  const StepShape shape{.num_units = static_cast<int>(table.units().size()),
                        .first_micro_batch = static_cast<int>(plan.first_micro_batch()),
                        .num_micro_batches = static_cast<int>(plan.num_micro_batches()),
                        .max_micro_batches = static_cast<int>(ceil_div(num_micro_batches, layout.dp)),
                        .zero = layout.zero};
  const bool is_traffic = make_step(setting, shape, storage, context, world);
  const std::scoped_lock lock(mutex);
  whole.is_traffic = whole.is_traffic && is_traffic;
  DeviceSums sums(context, 1);
  for (int group = 0; group < storage.num_groups(); ++group) {
    tell_group(storage, local.group(group), group, whole);
    add_squared_norm(context, local.group(group), storage.group_gradient(group), sums, 0);
  }
  sums.drain_into(std::array{&whole.squared_norm});
  return 0;
}

Whole step_of(const Setting& setting) {
  const model::ParameterTable table = table_of(setting);
  Whole whole;
  for (const model::ParamSpec& param : table.params()) {
    const auto numel = static_cast<std::size_t>(param.shape.numel());
    whole.expected.emplace_back(numel);
    whole.found.emplace_back(numel);
    whole.known.emplace_back(numel);
  }
  add_expected(table, setting.layout, whole);
  std::mutex mutex;
  comm::run_threads(setting.layout.size(),
                    [&](comm::Communicator& world) { return run_rank(setting, table, world, whole, mutex); });
  return whole;
}

/// Returns the largest difference between found and expected gradients. Checks all other
/// conditions.
double error_of(const Setting& setting) {
  const Whole whole = step_of(setting);
  CHECK(whole.num_wrong == 0);
  CHECK(whole.num_padding == 0);
  CHECK(whole.is_traffic);
  double most = 0, squares = 0;
  for (std::size_t p = 0; p < whole.found.size(); ++p) {
    CHECK(std::find(whole.known[p].begin(), whole.known[p].end(), false) == whole.known[p].end());
    for (std::size_t i = 0; i < whole.found[p].size(); ++i) {
      most = std::max(most, std::abs(double{whole.found[p][i]} - double{whole.expected[p][i]}));
      squares += double{whole.found[p][i]} * double{whole.found[p][i]};
    }
  }
  CHECK(whole.squared_norm.value() == Approx(squares).epsilon(1e-12));
  return most;
}

}  // namespace

TEST_CASE("gradients of which tensor-parallel ranks have parts become whole, the same bits on all") {
  const int tp = GENERATE(1, 2, 4), dp = GENERATE(1, 2), zero = dp == 1 ? 0 : GENERATE(0, 1, 2, 3);
  const bool sequence_parallel = GENERATE(false, true);
  const std::int64_t heads = GENERATE(1, 2, 4);
  CAPTURE(tp, dp, zero, sequence_parallel, heads);
  const model::Layout layout{.dp = dp, .tp = tp, .zero = zero, .sequence_parallel = sequence_parallel};
  REQUIRE(layout_error(layout, spec_of(heads)).empty());
  const double error = error_of({layout, heads});
  const bool is_same_sum =
      tp <= 2 && zero <= 1;  // other sums have more than two ranks, or one sum for each micro-batch
  CHECK((is_same_sum ? error == 0 : error < 2e-5));
}

TEST_CASE("data-parallel replicas sum their parts before tensor-parallel ranks do") {
  const int zero = GENERATE(1, 2, 3);
  const model::Layout layout{.dp = 4, .tp = 2, .zero = zero, .zero_group = 2, .sequence_parallel = true};
  CHECK(error_of({layout, 1}) == 0);
  // Gradients that have travelled in 16 bits are summed over tensor-parallel ranks in 32.
  CHECK(error_of({layout, 1, {.reduce = DType::bf16}}) < 0.1);
}

TEST_CASE("ranks with the same experts sum their gradients, to the bits of experts on one rank") {
  const int tp = GENERATE(1, 2), ep = GENERATE(1, 2, 4), zero = GENERATE(0, 1, 2, 3);
  const int zero_group = zero == 0 ? 0 : GENERATE(0, 2);
  const model::Layout layout{.dp = 4, .tp = tp, .zero = zero, .zero_group = zero_group, .ep = ep};
  CAPTURE(layout.to_string());
  CHECK(error_of({.layout = layout, .key_value_heads = 1, .has_experts = true}) == 0);
}

TEST_CASE("with several micro-batches on a rank, the gradients of divided experts differ by rounding") {
  model::Layout layout{.dp = 2, .tp = 2, .zero = GENERATE(0, 1, 2, 3), .sequence_parallel = true, .ep = 2};
  const double error = error_of({.layout = layout, .has_experts = true});
  CHECK(error < 2e-5);
  CHECK(error > 0);
  layout.ep = 1;
  if (layout.zero < 2) CHECK(error_of({.layout = layout, .has_experts = true}) == 0);
}

TEST_CASE("ranks whose gradients are to be summed must know each other") {
  const model::Layout layout{.tp = 2};
  const model::ParameterTable table(spec_of(1));
  const int refused = comm::run_threads(2, [&](comm::Communicator& world) {
    const Groups groups(layout, world);
    const LocalTable local(table, layout, layout.coordinates_of(world.rank()));
    const LanePlan plan(1, 1);
    const Context context(1, Device::host());
    const std::unique_ptr<GradientStore> store =
        make_gradient_store(context.device(), local, {}, plan, groups);
    store->start_step(context);
    for (const int unit : local.units()) {
      store->unit_gradients(context, unit, 0);
      store->finish_micro_batch(context, unit, 0);
      store->reduce(context, unit);
    }
    try {
      store->complete(context);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::internal ? 0 : 1;
    }
    return 1;
  });
  CHECK(refused == 0);
}
