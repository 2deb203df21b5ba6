#include "prove/compare_layouts.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "comm/exchange.hpp"
#include "prove/layout.hpp"
#include "prove/layout_run.hpp"
#include "train/agreement.hpp"
#include "train/memory_fit.hpp"
#include "train/precision.hpp"
#include "train/start.hpp"

namespace dt::prove {

namespace {

using Json = nlohmann::ordered_json;

struct Comparison {
  std::string layout;
  std::int64_t steps = 1;
  LayoutResult result;
  double loss_difference = 0;  // relative, the most of any step
  bool same_data = true;
  Promise promise;
  std::string broken;  // what was promised and does not hold
};

double most_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]) / std::abs(b[i]);
    if (!(difference <= most)) most = difference;
  }
  return most;
}

/// `first` is the reference's.
void judge(Comparison& own, const Comparison& first) {
  own.loss_difference = most_difference(own.result.losses, first.result.losses);
  own.same_data = own.result.data_digest == first.result.data_digest;
  const bool is_close = !own.promise.loss_difference || own.loss_difference <= *own.promise.loss_difference;
  if (!own.same_data) {
    own.broken = "data";
  } else if (own.promise.same_bits && !own.result.weights.same_bits) {
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
            {"weights_equal", r.weights.same_bits},
            {"weights_max_difference", r.weights.most},
            {"weights_relative_difference", r.weights.relative},
            {"promised_equal", c.promise.same_bits},
            {"promised_loss_difference", nullptr},
            {"holds", c.broken.empty()},
            {"broken", c.broken},
            {"peak_bytes", r.peak_bytes},
            {"weights_bytes", r.storage.weights},
            {"gradients_bytes", r.storage.gradients},
            {"optimizer_bytes", r.storage.optimizer},
            {"gathered_bytes", r.storage.gathered},
            {"moved_bytes", r.moved_bytes / c.steps},  // a step
            {"expected_bytes", r.expected_bytes / c.steps},
            {"tokens_per_s", r.tokens_per_s}};
  if (c.promise.loss_difference) json["promised_loss_difference"] = *c.promise.loss_difference;
  return json;
}

std::string weights_text(const Comparison& c) {
  return c.result.weights.same_bits ? "equal" : fmt::format("{:.1e}", c.result.weights.relative);
}

void print(const Comparison& c, bool is_reference, std::size_t width, Console& console) {
  if (console.json()) return console.print("{}\n", as_json(c, is_reference).dump());
  if (is_reference) {
    console.print("{:<{}}  {:<16}  {:>9}  {:>8}  {:>10}  {:>10}  {:>9}  {}\n", "layout", width, "data digest",
                  "loss diff", "weights", "peak", "moved/step", "tokens/s", "promised");
  }
  const std::string promised = is_reference          ? "the reference"
                               : c.promise.same_bits ? "equal weights"
                               : c.promise.loss_difference
                                   ? fmt::format("losses within {:.0e}", *c.promise.loss_difference)
                                   : "the same data";
  console.print("{:<{}}  {:016x}  {:>9.1e}  {:>8}  {:>10}  {:>10}  {:>9.0f}  {}{}\n", c.layout, width,
                c.result.data_digest, c.loss_difference, is_reference ? "" : weights_text(c),
                format_bytes(c.result.peak_bytes),
                format_bytes(static_cast<std::uint64_t>(c.result.moved_bytes / c.steps)),
                c.result.tokens_per_s, promised, c.broken.empty() ? "" : ": BROKEN (" + c.broken + ")");
}

/// What each layout makes of the settings; all are refused or none.
std::vector<train::Plan> make_plans(const std::vector<ComparedLayout>& layouts,
                                    const train::Settings& settings, const data::TokenDataset& dataset,
                                    const train::Launch& launch) {
  const model::ModelSpec spec = train::choose_spec(settings, {});
  std::vector<train::Plan> plans;
  for (const ComparedLayout& layout : layouts) {
    const train::Launch own = train::of_first(launch, layout.ranks);
    const train::Replan replan = [&](const train::Settings& s) {
      return train::make_plan(s, spec, dataset, own, nullptr);
    };
    try {
      plans.push_back(replan(layout.settings));
      train::check_memory(layout.settings, plans.back(), replan, usable_memory_bytes());
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("layout '{}': {}", layout.name, error.what()), error.context());
    }
    if (plans.back().total_steps < 1) throw usage_error("--compare-layouts needs at least one step");
  }
  return plans;
}

}  // namespace

int compare_layouts(const train::Settings& settings, const std::vector<OptionValue>& asked,
                    const StopSignals& signals, const comm::Ranks& ranks) {
  comm::Communicator& world = ranks.world;
  world.engine().set_timeout(settings.comm_timeout.seconds);
  const train::Launch launch = train::find_launch(world);
  std::optional<data::TokenDataset> dataset;
  std::vector<ComparedLayout> layouts;
  std::vector<train::Plan> plans;
  comm::together(world, [&] {
    dataset.emplace(settings.data);
    layouts = parse_layouts(*settings.compare_layouts, settings, world.size());
    plans = make_plans(layouts, settings, *dataset, launch);
  });
  train::check_alike(ranks, asked, *dataset);
  const Arithmetic arithmetic =
      train::choose_arithmetic(settings, plans.front().precision, plans.front().threads, nullptr, ranks);
  std::size_t width = std::string("layout").size();
  for (const ComparedLayout& layout : layouts) width = std::max(width, layout.name.size());

  std::optional<KeptWeights> reference;  // on rank 0
  comm::at_first(ranks, [&] { reference.emplace(); });
  std::optional<Comparison> first;
  std::int64_t broken = 0;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    plans[i].arithmetic = arithmetic;
    const LayoutRequest request{reference ? &*reference : nullptr, i == 0,
                                [&] { return signals.received(); }};
    std::optional<LayoutResult> result;
    comm::on_first(ranks, layouts[i].ranks, layouts[i].name, [&](const comm::Ranks& first) {
      result = run_layout(plans[i], layouts[i].settings, *dataset, first, request);
    });
    if (const auto signal = comm::broadcast_number(world, result ? result->stopped_by : 0); signal != 0) {
      ranks.console.warn("stopped by {} in layout {}", signal_name(static_cast<int>(signal)),
                         layouts[i].name);
      return 128 + static_cast<int>(signal);
    }
    comm::at_first(ranks, [&] {
      Comparison own{.layout = layouts[i].name,
                     .steps = plans[i].total_steps,
                     .result = *result,
                     .promise = promise_of(plans[i], plans[0]),
                     .broken = {}};
      if (!first) first = own;
      judge(own, *first);
      if (!own.broken.empty()) ++broken;
      print(own, i == 0, width, ranks.console);
    });
  }
  broken = comm::broadcast_number(world, broken);
  if (broken == 0) return 0;
  throw comm::SharedError(
      ErrorKind::verification,
      fmt::format("{} of {} layouts broke what is promised of them", broken, layouts.size()));
}

}  // namespace dt::prove
