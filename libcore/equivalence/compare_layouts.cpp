#include "equivalence/compare_layouts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <exception>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "comm/exchange.hpp"
#include "equivalence/layout_run.hpp"
#include "model/layout.hpp"
#include "plan/launch.hpp"
#include "plan/planner.hpp"
#include "plan/precision.hpp"
#include "train/start/consistency_checks.hpp"
#include "train/start/staging.hpp"
#include "train/start/start.hpp"

namespace dt::equivalence {

namespace {

void check_ranks(const ComparedLayout& layout, const model::LayoutText& text, int num_ranks) {
  if (layout.ranks <= num_ranks) return;
  const std::int64_t each = layout.settings.ranks_per_model();
  const char* const most = layout.settings.tp * layout.settings.cp > 1 ? "pp × cp × tp" : "pp";
  throw text.error(fmt::format("this layout needs {} ranks; {} {} started", layout.ranks, num_ranks,
                               num_ranks == 1 ? "was" : "were"),
                   fmt::format("use {} of at most {}, or start {} ranks", each > num_ranks ? most : "dp",
                               each > num_ranks ? num_ranks : num_ranks / each, layout.ranks));
}

/// Refuses micro-batches that do not divide the batch, and names the nearest that do.
void check_micro_batch(const ComparedLayout& layout, const model::LayoutText& text) {
  const std::int64_t batch = layout.settings.global_batch, micro_batch = layout.settings.micro_batch;
  if (batch % micro_batch == 0) return;
  std::int64_t below = std::min(micro_batch, batch), above = micro_batch;
  while (batch % below != 0) --below;
  while (above < batch && batch % above != 0) ++above;
  throw text.error(fmt::format("micro-batch={} does not divide --global-batch {}", micro_batch, batch),
                   above > batch || batch % above != 0 || above == below
                       ? fmt::format("use micro-batch={}", below)
                       : fmt::format("use micro-batch={} or micro-batch={}", below, above));
}

void read_cuts(const model::LayoutText& text, plan::Settings& s) {
  const std::int64_t pp = s.pp, virtual_stages = s.virtual_stages;
  text.read("tp", 1, plan::max_stages, s.tp);
  text.read("cp", 1, plan::max_stages, s.cp);
  text.read("ep", 1, plan::max_stages, s.ep);
  text.read("sp", s.sequence_parallel);
  if (text.has("sp") && s.sequence_parallel && s.tp == 1)
    throw text.error("sp=on has no effect without tp", "add tp=2 or more");
  text.read("pp", 1, plan::max_stages, s.pp);
  text.read("virtual-stages", 1, plan::max_stages, s.virtual_stages);
  text.read("schedule", s.pp_schedule);
  if (s.pp != pp || s.virtual_stages != virtual_stages) s.stage_units.clear();  // they are for other stages
  if (text.has("stage-units")) s.stage_units = split(text.value("stage-units"), '+');
}

ComparedLayout parse_layout(const std::string& name, const plan::Settings& base, int num_ranks) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  constexpr std::array keys = {
      "pp", "schedule", "virtual-stages", "stage-units",       "dp",        "tp",          "cp",     "ep",
      "sp", "zero",     "zero-group",     "comm-bucket-bytes", "recompute", "micro-batch", "threads"};
  const model::LayoutText text(name, fmt::format("--compare-layouts '{}'", name), keys);
  ComparedLayout layout{name, num_ranks, base};
  plan::Settings& s = layout.settings;
  read_cuts(text, s);
  std::int64_t dp = std::max<std::int64_t>(1, num_ranks / s.ranks_per_model());
  text.read("dp", 1, most, dp);
  layout.ranks = static_cast<int>(std::min(most, s.ranks_per_model() * dp));
  text.read("zero", 0, 3, s.zero);
  text.read("comm-bucket-bytes", 0, std::int64_t{1} << 50, s.comm_bucket_bytes);
  text.read("micro-batch", 1, most, s.micro_batch);
  text.read("threads", 1, plan::max_threads, s.threads);
  if (text.has("zero-group")) s.zero_group = text.value("zero-group");
  text.read("recompute", s.recompute);
  if (text.has("zero-group") && s.zero_group != "all" && s.zero == 0)
    throw text.error("zero-group has no effect without zero", "add zero=1, 2 or 3");
  check_ranks(layout, text, num_ranks);
  check_micro_batch(layout, text);
  return layout;
}

bool is_power_of_two(int n) {
  return std::has_single_bit(static_cast<unsigned>(n));
}

/// Returns the class of a layout's sum of gradients. Layouts of one class add the same numbers in the
/// same order. pp, schedule and recompute have no part in it.
std::string sum_class(const plan::Plan& plan) {
  const int dp = plan.layout.dp;
  const bool has_whole_lanes = is_power_of_two(dp) && plan.grad_lanes % dp == 0;
  // A group's sum is a node in the tree of the sum over all groups.
  const int group = plan.layout.group_size();
  const bool has_whole_groups = is_power_of_two(group) || group == plan.layout.data_ranks();
  // Sums that travel in 16 bits are rounded wherever ranks meet.
  const bool is_rounded_once =
      plan.precision.wire() == plan.precision.master() || plan.layout.data_ranks() == 1;
  const std::string sum = plan.describe_gradient_reduction();
  if (has_whole_lanes && has_whole_groups && is_rounded_once) return sum;
  return fmt::format("{}, {} ranks in groups of {}", sum, dp, group);
}

}  // namespace

std::vector<ComparedLayout> parse_layouts(const std::string& text, const plan::Settings& base,
                                          int num_ranks) {
  std::vector<ComparedLayout> layouts;
  for (const std::string& part : split(text, ';')) {
    const std::string name(trim(part));
    if (!name.empty()) layouts.push_back(parse_layout(name, base, num_ranks));
  }
  if (layouts.empty()) throw usage_error("--compare-layouts '{}' lists no layout", text);
  std::int64_t most_lanes = 1;
  for (const ComparedLayout& layout : layouts)
    most_lanes = std::max(most_lanes, layout.ranks / layout.settings.ranks_per_model());
  for (ComparedLayout& layout : layouts) {
    if (!layout.settings.grad_lanes) layout.settings.grad_lanes = most_lanes;
  }
  return layouts;
}

EquivalenceGuarantee guarantee_between(const plan::Plan& a, const plan::Plan& b) {
  EquivalenceGuarantee promise;
  const bool have_same_rows = a.device == Device::host() || a.tp_chunks == b.tp_chunks;
  promise.bit_identical = have_same_rows && a.layout.tp == b.layout.tp && a.layout.cp == b.layout.cp &&
                          a.layout.sequence_parallel == b.layout.sequence_parallel &&
                          a.micro_batch == b.micro_batch && a.threads == b.threads &&
                          a.precision == b.precision && sum_class(a) == sum_class(b);
  // A bound on losses would say little if anything is rounded to 16 bits, or to TF32's.
  const bool is_single = a.precision.compute == DType::f32 && a.arithmetic == Arithmetic::fp32 &&
                         a.precision.wire() == DType::f32;
  if (a.precision.compute == DType::f64) promise.max_loss_difference = 1e-10;
  if (is_single) promise.max_loss_difference = 1e-5;
  return promise;
}

namespace {

using Json = nlohmann::ordered_json;

struct Comparison {
  std::string layout;
  std::int64_t steps = 1;
  LayoutResult result;
  double loss_difference = 0;  // the largest relative difference of any step
  bool same_data = true;
  EquivalenceGuarantee promise;
  std::string broken;  // the promise that does not hold; "": none
};

double max_relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]) / std::abs(b[i]);
    if (!(difference <= most)) most = difference;
  }
  return most;
}

/// Compares a layout with the reference, `first`.
void judge(Comparison& own, const Comparison& first) {
  own.loss_difference = max_relative_difference(own.result.losses, first.result.losses);
  own.same_data = own.result.data_digest == first.result.data_digest;
  const bool is_close =
      !own.promise.max_loss_difference || own.loss_difference <= *own.promise.max_loss_difference;
  if (!own.same_data) {
    own.broken = "data";
  } else if (own.promise.bit_identical && !own.result.weights.bit_identical) {
    own.broken = "weights";
  } else if (!is_close) {
    own.broken = "losses";
  } else if (!own.result.all_moved_as_expected) {
    own.broken = "bytes moved";
  }
}

Json as_json(const Comparison& c, bool is_reference) {
  const LayoutResult& r = c.result;
  Json json{{"kind", "layout"},
            {"layout", c.layout},
            {"reference", is_reference},
            {"data_digest", fmt::format("{:016x}", r.data_digest)},
            {"same_data", c.same_data},
            {"losses", r.losses},
            {"loss_difference", c.loss_difference},
            {"weights_equal", r.weights.bit_identical},
            {"weights_max_difference", r.weights.max_absolute},
            {"weights_relative_difference", r.weights.relative_norm},
            {"promised_equal", c.promise.bit_identical},
            {"promised_loss_difference", nullptr},
            {"holds", c.broken.empty()},
            {"broken", c.broken},
            {"peak_bytes", r.peak_bytes},
            {"weights_bytes", r.storage.weights},
            {"gradients_bytes", r.storage.gradients},
            {"optimizer_bytes", r.storage.optimizer},
            {"gathered_bytes", r.storage.gathered},
            {"moved_bytes", r.moved_bytes / c.steps},  // per step
            {"expected_bytes", r.expected_bytes / c.steps},
            {"tokens_per_s", r.tokens_per_s}};
  if (c.promise.max_loss_difference) json["promised_loss_difference"] = *c.promise.max_loss_difference;
  return json;
}

std::string weights_text(const Comparison& c) {
  return c.result.weights.bit_identical ? "equal" : fmt::format("{:.1e}", c.result.weights.relative_norm);
}

void print(const Comparison& c, bool is_reference, std::size_t width, Console& console) {
  if (console.json()) return console.print("{}\n", as_json(c, is_reference).dump());
  if (is_reference) {
    console.print("{:<{}}  {:<16}  {:>9}  {:>8}  {:>10}  {:>10}  {:>9}  {}\n", "layout", width, "data digest",
                  "loss diff", "weights", "peak mem", "bytes/step", "tokens/s", "guarantee");
  }
  const std::string promised = is_reference              ? "reference"
                               : c.promise.bit_identical ? "equal weights"
                               : c.promise.max_loss_difference
                                   ? fmt::format("losses within {:.0e}", *c.promise.max_loss_difference)
                                   : "same data";
  console.print("{:<{}}  {:016x}  {:>9.1e}  {:>8}  {:>10}  {:>10}  {:>9.0f}  {}{}\n", c.layout, width,
                c.result.data_digest, c.loss_difference, is_reference ? "" : weights_text(c),
                format_bytes(c.result.peak_bytes),
                format_bytes(static_cast<std::uint64_t>(c.result.moved_bytes / c.steps)),
                c.result.tokens_per_s, promised, c.broken.empty() ? "" : ": FAILED (" + c.broken + ")");
}

/// Returns the plan of each layout. If one layout is refused, all are.
std::vector<plan::Plan> make_plans(const std::vector<ComparedLayout>& layouts, const plan::Settings& settings,
                                   const data::Mixture& dataset, const plan::Launch& launch) {
  const model::ModelSpec spec = train::choose_spec(settings.resume, {});
  std::vector<plan::Plan> plans;
  for (const ComparedLayout& layout : layouts) {
    const plan::Launch own = plan::launch_on_subset(launch, layout.ranks);
    try {
      plans.push_back(plan::Planner(layout.settings, spec, &dataset, own).fitting_plan());
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("layout '{}': {}", layout.name, error.what()), error.context());
    }
    if (plans.back().total_steps < 1) throw usage_error("--compare-layouts needs at least one step");
  }
  return plans;
}

/// Runs all layouts, one after the other.
class Comparisons {
 public:
  /// The arguments must outlive the object.
  Comparisons(const std::vector<ComparedLayout>& layouts, const std::vector<plan::Plan>& plans,
              const data::Mixture& dataset, const StopSignals& signals, const comm::Ranks& ranks)
      : layouts_(layouts), plans_(plans), dataset_(dataset), signals_(signals), ranks_(ranks) {
    comm::on_root(ranks, [&] { weights_.emplace(); });
    for (const ComparedLayout& layout : layouts) width_ = std::max(width_, layout.name.size());
  }

  /// Trains under one layout and prints the result. Returns the signal that stopped it, or 0.
  int run(std::size_t i) {
    const ComparedLayout& layout = layouts_[i];
    const LayoutRequest request{weights_ ? &*weights_ : nullptr, i == 0, [&] { return signals_.received(); }};
    std::optional<LayoutResult> result;
    comm::on_subset(ranks_, layout.ranks, layout.name, [&](const comm::Ranks& used) {
      result = run_layout(plans_[i], dataset_, used, request);
    });
    const auto signal = comm::broadcast_number(ranks_.world, result ? result->stopped_by : 0);
    if (signal == 0) comm::on_root(ranks_, [&] { compare(i, *result); });
    return static_cast<int>(signal);
  }
  /// Returns, on all ranks, the number of layouts that broke their promise.
  std::int64_t num_broken() const { return comm::broadcast_number(ranks_.world, broken_); }

 private:
  void compare(std::size_t i, const LayoutResult& result) {
    Comparison own{.layout = layouts_[i].name,
                   .steps = plans_[i].total_steps,
                   .result = result,
                   .promise = guarantee_between(plans_[i], plans_[0]),
                   .broken = {}};
    if (!reference_) reference_ = own;
    judge(own, *reference_);
    if (!own.broken.empty()) ++broken_;
    print(own, i == 0, width_, ranks_.console);
  }

  const std::vector<ComparedLayout>& layouts_;
  const std::vector<plan::Plan>& plans_;
  const data::Mixture& dataset_;
  const StopSignals& signals_;
  const comm::Ranks& ranks_;
  std::size_t width_ = std::string("layout").size();
  std::optional<TemporaryWeightsFile> weights_;  // the reference's, on rank 0
  std::optional<Comparison> reference_;          // on rank 0
  std::int64_t broken_ = 0;                      // on rank 0
};

}  // namespace

int compare_layouts(const plan::Settings& settings, const std::vector<OptionValue>& asked,
                    const StopSignals& signals, const comm::Ranks& ranks) {
  comm::Communicator& world = ranks.world;
  world.engine().set_timeout(settings.comm_timeout.seconds);
  const plan::Launch launch = plan::find_launch(settings, ranks, world.size());
  const train::StagedData staged = train::stage_data(
      settings.data, [&] { return signals.received() != 0; }, ranks);
  std::optional<data::Mixture> dataset;
  std::vector<ComparedLayout> layouts;
  std::vector<plan::Plan> plans;
  comm::run_collectively(world, [&] {
    dataset.emplace(settings.data.mixture, staged.copies, staged.shards_to_read_ahead);
    layouts = parse_layouts(*settings.compare_layouts, settings, world.size());
    plans = make_plans(layouts, settings, *dataset, launch);
  });
  train::check_same_settings(ranks, asked, *dataset);
  for (const plan::Plan& plan : plans) plan::check_thread_limit(plan, ranks);
  const Arithmetic arithmetic = plan::choose_arithmetic(plans.front(), nullptr, ranks);
  for (plan::Plan& plan : plans) plan.arithmetic = arithmetic;

  Comparisons comparisons(layouts, plans, *dataset, signals, ranks);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const int signal = comparisons.run(i);
    if (signal == 0) continue;
    ranks.console.warn("stopped by {} in layout {}", signal_name(signal), layouts[i].name);
    return 128 + signal;
  }
  const std::int64_t broken = comparisons.num_broken();
  if (broken == 0) return 0;
  throw comm::SharedError(ErrorKind::verification, fmt::format("{} of {} layouts do not meet their guarantee",
                                                               broken, layouts.size()));
}

}  // namespace dt::equivalence
