#include "equivalence/compare_layouts.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "comm/exchange.hpp"
#include "equivalence/compared_layout.hpp"
#include "equivalence/layout_run.hpp"
#include "plan/device.hpp"
#include "plan/memory/memory_fit.hpp"
#include "plan/precision.hpp"
#include "train/start/consistency_checks.hpp"
#include "train/start/staging.hpp"
#include "train/start/start.hpp"

namespace dt::equivalence {

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
                  "loss diff", "weights", "peak", "moved/step", "tokens/s", "promised");
  }
  const std::string promised = is_reference              ? "the reference"
                               : c.promise.bit_identical ? "equal weights"
                               : c.promise.max_loss_difference
                                   ? fmt::format("losses within {:.0e}", *c.promise.max_loss_difference)
                                   : "the same data";
  console.print("{:<{}}  {:016x}  {:>9.1e}  {:>8}  {:>10}  {:>10}  {:>9.0f}  {}{}\n", c.layout, width,
                c.result.data_digest, c.loss_difference, is_reference ? "" : weights_text(c),
                format_bytes(c.result.peak_bytes),
                format_bytes(static_cast<std::uint64_t>(c.result.moved_bytes / c.steps)),
                c.result.tokens_per_s, promised, c.broken.empty() ? "" : ": BROKEN (" + c.broken + ")");
}

/// Returns the plan of each layout. If one layout is refused, all are.
std::vector<plan::Plan> make_plans(const std::vector<ComparedLayout>& layouts, const plan::Settings& settings,
                                   const data::Mixture& dataset, const plan::Launch& launch) {
  const model::ModelSpec spec = train::choose_spec(settings, {});
  std::vector<plan::Plan> plans;
  for (const ComparedLayout& layout : layouts) {
    const plan::Launch own = plan::launch_on_subset(launch, layout.ranks);
    const plan::Replan replan = [&](const plan::Settings& s) {
      return plan::make_plan(s, spec, &dataset, own, nullptr);
    };
    try {
      plans.push_back(replan(layout.settings));
      plan::check_memory(layout.settings, plans.back(), replan, usable_memory_bytes());
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
      result = run_layout(plans_[i], layout.settings, dataset_, used, request);
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
      settings, [&] { return signals.received() != 0; }, ranks);
  std::optional<data::Mixture> dataset;
  std::vector<ComparedLayout> layouts;
  std::vector<plan::Plan> plans;
  comm::run_collectively(world, [&] {
    dataset.emplace(settings.data, staged.copies, staged.shards_to_read_ahead);
    layouts = parse_layouts(*settings.compare_layouts, settings, world.size());
    plans = make_plans(layouts, settings, *dataset, launch);
  });
  train::check_same_settings(ranks, asked, *dataset);
  for (const plan::Plan& plan : plans) plan::check_thread_limit(plan, ranks);
  const Arithmetic arithmetic = plan::choose_arithmetic(settings, plans.front(), nullptr, ranks);
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
  throw comm::SharedError(
      ErrorKind::verification,
      fmt::format("{} of {} layouts broke what is promised of them", broken, layouts.size()));
}

}  // namespace dt::equivalence
