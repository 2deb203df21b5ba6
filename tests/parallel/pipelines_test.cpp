// Steps of whole pipelines, ranks as threads, against those of one rank.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <mutex>
#include <vector>

#include "comm/threads/thread_group.hpp"
#include "kernels/elementwise.hpp"
#include "parallel/builders.hpp"
#include "parallel/executor.hpp"
#include "parallel/grouped_spec.hpp"
#include "parallel/held.hpp"
#include "parallel/stages.hpp"
#include "parallel/validator.hpp"
#include "support/unit_runner.hpp"

using namespace dt;
using namespace dt::parallel;
using model::PipelineSchedule;

namespace {

constexpr int num_steps = 3;
constexpr std::int64_t sequence = 6;

struct Setting {
  model::Layout layout{};
  int micro_batches = 4;
  int layers = 6;
  bool tied = true;
  bool recompute = false;
  Precision precision{};
  std::int64_t lanes = 4;
};

int num_units(const Setting& s) {
  return s.layers + 2;
}

int most_micro_batches(const Setting& s) {
  return (s.micro_batches + s.layout.dp - 1) / s.layout.dp;
}

/// With the units that the blocks' costs ask for; `extra` more on the first virtual stage.
model::Layout laid_out(model::Layout layout, int units, int extra = 0) {
  const int stages = layout.pp * layout.virtual_stages;
  std::vector<int> counts(static_cast<std::size_t>(stages), (units - extra) / stages);
  counts.front() += extra;
  counts.back() += (units - extra) % stages;
  layout.stages = ranges_of(stages_of_counts(counts, units), schedule_of(layout, 1));
  return layout;
}

/// Every element of every parameter, and what was wrong on any rank.
struct Result {
  std::vector<std::vector<float>> params;
  std::vector<std::vector<float>> other_end;  // as the tied table's other holder has it
  std::vector<double> losses;                 // of each micro-batch of each step

  explicit Result(const Setting& s, const model::ParameterTable& table)
      : losses(static_cast<std::size_t>(num_steps * s.micro_batches)) {
    for (const model::ParamSpec& param : table.params())
      params.emplace_back(static_cast<std::size_t>(param.shape.numel()));
  }
};

/// One rank's model, and steps of plain descent on it.
class Rank {
 public:
  Rank(const Setting& setting, const model::ParameterTable& table, const model::ModelSpec& spec,
       comm::Communicator& world)
      : setting_(setting),
        pipeline_(pipeline_of(setting.layout, num_units(setting), most_micro_batches(setting), setting.tied)),
        local_(table, setting.layout, setting.layout.place_of(world.rank())),
        groups_(setting.layout, world, channels_of(pipeline_)),
        plan_(LanePlan(setting.micro_batches, setting.lanes).of_rank(local_.place().dp, setting.layout.dp)),
        units_(model::make_units(context_.device(), spec, table, setting.precision.compute)),
        storage_(context_.device(), local_, setting.precision, &plan_, groups_),
        executor_(context_, units_, storage_) {
    for (const LocalParam& param : local_.params()) {
      storage_.set_weights(context_, param, [&](const Piece& piece, const Tensor& values) {
        model::initialise(local_.spec(param), 7, piece, values, 1);
      });
    }
  }

  ActionList list() const {
    const StepShape shape{.num_units = num_units(setting_),
                          .first_micro_batch = static_cast<int>(plan_.first_micro_batch()),
                          .num_micro_batches = static_cast<int>(plan_.num_micro_batches()),
                          .rounds = most_micro_batches(setting_),
                          .recompute = setting_.recompute,
                          .zero = setting_.layout.zero};
    const std::vector<ActionList> lists = build_training_steps(shape, pipeline_);
    validate_training_steps(lists, std::span(&shape, 1), pipeline_);
    return lists[static_cast<std::size_t>(local_.place().pp)];
  }

  void step(std::span<const model::MicroBatch> micro_batches, int number, Result& result) {
    const StepHooks hooks{
        .loss =
            [&](int m, const Tensor& nll_R) {
              const auto nll = nll_R.span<double>();
              double& loss = result.losses[static_cast<std::size_t>(number * setting_.micro_batches + m)];
              for (const double one : nll) loss += one;
            },
        .control = [] {},
        .step = [&] { descend(); }};
    executor_.run(list(), micro_batches, 0, hooks);
  }

  void tell(Result& result, std::mutex& mutex) {
    const std::size_t bytes[]{sizeof(float)};
    const std::scoped_lock lock(mutex);
    for (const OwnedPiece& own : owned_pieces(local_, bytes)) {
      const LocalParam& param = local_.param(own.param);
      const auto values = storage_.group_masters(param.group).span<float>();
      std::copy_n(values.begin() + param.part_offset + own.piece.begin - param.part.begin, own.piece.numel(),
                  result.params[static_cast<std::size_t>(param.param)].begin() + own.piece.begin);
    }
    const int tied = local_.tied_group();
    if (tied < 0 || local_.group(tied).has_state || local_.group(tied).own.begin != 0) return;
    const Tensor part = storage_.group_weights(tied);
    if (part.dtype() != DType::f32) return;
    result.other_end.emplace_back(part.span<float>().begin(), part.span<float>().end());
  }

  const Executor& executor() const { return executor_; }
  const std::vector<std::unique_ptr<model::Unit>>& units() const { return units_; }

 private:
  void descend() {
    for (int group = 0; group < storage_.num_groups(); ++group) {
      if (!local_.group(group).has_state) continue;
      const auto gradient = storage_.group_gradient(group).span<float>();
      const auto weights = storage_.group_masters(group).span<float>();
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.05F * gradient[i];
      if (storage_.precision().has_masters())
        kernels::convert(context_, storage_.group_masters(group), storage_.group_weights(group));
    }
    storage_.weights().changed();
  }

  const Setting& setting_;
  Pipeline pipeline_;
  LocalTable local_;
  Groups groups_;
  Context context_{1, Device::host()};
  LanePlan plan_;
  std::vector<std::unique_ptr<model::Unit>> units_;
  ModelStorage storage_;
  Executor executor_;
};

model::ModelSpec spec_of(const Setting& s) {
  return dt_test::grouped_spec(s.layers, s.tied);
}

/// After all steps; `look` at each rank.
template <class Look>
Result train(const Setting& setting, const Look& look) {
  const model::ModelSpec spec = spec_of(setting);
  const model::ParameterTable table(spec);
  Result result(setting, table);
  std::mutex mutex;
  const int failed = comm::run_threads(setting.layout.size(), [&](comm::Communicator& world) {
    world.engine().set_timeout(20);
    Rank rank(setting, table, spec, world);
    auto batch = test::Batch::arbitrary(spec, setting.micro_batches, sequence);
    std::vector<model::MicroBatch> micro_batches;
    for (std::int64_t s = 0; s < batch.sequences; ++s) micro_batches.push_back(batch.micro_batch(s, s + 1));
    for (int step = 0; step < num_steps; ++step) rank.step(micro_batches, step, result);
    rank.tell(result, mutex);
    look(rank);
    return 0;
  });
  CHECK(failed == 0);
  return result;
}

Result train(const Setting& setting) {
  return train(setting, [](Rank&) {});
}

void check_same(const Result& a, const Result& b) {
  for (std::size_t p = 0; p < a.params.size(); ++p) {
    INFO("parameter " << p);
    CHECK(std::memcmp(a.params[p].data(), b.params[p].data(), a.params[p].size() * sizeof(float)) == 0);
  }
  CHECK(a.losses == b.losses);
}

Setting alone(Setting setting) {
  setting.layout = {};
  setting.recompute = false;
  return setting;
}

struct Kind {
  PipelineSchedule schedule;
  int virtual_stages;
};
constexpr Kind kinds[] = {{PipelineSchedule::gpipe, 1},
                          {PipelineSchedule::one_f_one_b, 1},
                          {PipelineSchedule::interleaved, 2},
                          {PipelineSchedule::zero_bubble, 1},
                          {PipelineSchedule::zero_bubble, 2}};

}  // namespace

TEST_CASE("every schedule trains as one rank does, bit for bit") {
  const bool tied = GENERATE(true, false);
  const Setting reference{.tied = tied};
  const Result expected = train(alone(reference));
  for (const Kind& kind : kinds) {
    for (const int pp : {1, 2, 3, 4}) {
      for (const int dp : {1, 2}) {
        for (const int zero : {0, 1}) {
          if (zero > 0 && dp == 1) continue;
          Setting setting = reference;
          const model::Layout layout{.pp = pp,
                                     .dp = dp,
                                     .zero = zero,
                                     .schedule = kind.schedule,
                                     .virtual_stages = kind.virtual_stages};
          setting.layout = laid_out(layout, num_units(setting), pp == 2 ? 2 : 0);
          setting.recompute = (pp + dp + zero) % 2 == 0;
          INFO(layout.to_string() << (tied ? " tied" : "") << (setting.recompute ? " recompute" : ""));
          const Result result = train(setting);
          check_same(expected, result);
          for (const std::vector<float>& other : result.other_end)
            CHECK(std::memcmp(other.data(), result.params[0].data(),
                              std::min(other.size(), result.params[0].size()) * sizeof(float)) == 0);
        }
      }
    }
  }
}

TEST_CASE("eight stages, and ranks with different numbers of micro-batches, or none") {
  for (const Kind& kind : kinds) {
    for (const int micro_batches : {1, 3, 11}) {
      Setting setting{.micro_batches = micro_batches, .layers = 14};
      const int pp = kind.virtual_stages == 1 ? 8 : 4;
      setting.layout =
          laid_out({.pp = pp, .dp = 2, .schedule = kind.schedule, .virtual_stages = kind.virtual_stages},
                   num_units(setting));
      INFO(setting.layout.to_string() << ", " << micro_batches << " micro-batches");
      check_same(train(alone(setting)), train(setting));
    }
  }
}

TEST_CASE("where micro-batches are summed one by one, pipelines have the bits of ranks without stages") {
  for (const int zero : {2, 3}) {
    for (const Kind& kind : kinds) {
      Setting setting{.micro_batches = 5};
      Setting without = setting;
      without.layout = {.dp = 2, .zero = zero};
      setting.layout = laid_out(
          {.pp = 3, .dp = 2, .zero = zero, .schedule = kind.schedule, .virtual_stages = kind.virtual_stages},
          num_units(setting));
      INFO(setting.layout.to_string());
      check_same(train(without), train(setting));
    }
  }
}

TEST_CASE("in 16 bits, too, stages change no bit, and both ends of a tied table stay the same") {
  for (const Kind& kind : kinds) {
    Setting setting{.precision = {.compute = DType::bf16}};
    setting.layout = laid_out(
        {.pp = 2, .dp = 2, .zero = 1, .schedule = kind.schedule, .virtual_stages = kind.virtual_stages},
        num_units(setting));
    INFO(setting.layout.to_string());
    check_same(train(alone(setting)), train(setting));
  }
}

TEST_CASE("a stage takes the memory that the walk of its list finds") {
  for (const bool recompute : {false, true}) {
    for (const Kind& kind : kinds) {
      Setting setting{.micro_batches = 8, .recompute = recompute};
      setting.layout = laid_out({.pp = 2, .schedule = kind.schedule, .virtual_stages = kind.virtual_stages},
                                num_units(setting));
      train(setting, [&](Rank& rank) {
        std::vector<UnitBytes> bytes;
        for (const auto& unit : rank.units()) {
          bytes.push_back({.output = unit->output_shape(1, sequence).numel() *
                                     static_cast<std::int64_t>(dtype_bytes(unit->output_dtype())),
                           .saved = static_cast<std::int64_t>(unit->saved_bytes(1, sequence)),
                           .handover = static_cast<std::int64_t>(unit->handover_bytes(1, sequence))});
        }
        const auto held = static_cast<double>(most_held_bytes(rank.list(), bytes));
        const auto pool = static_cast<double>(rank.executor().activation_bytes());
        if (held > pool || held < 0.93 * pool)  // buffers of one kind do not serve for another
          throw Error(ErrorKind::internal, fmt::format("{}: the walk finds {} bytes, running takes {}",
                                                       setting.layout.to_string(), held, pool));
      });
    }
  }
}
