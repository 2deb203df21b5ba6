#include "train/start/schedule_change.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/io/json.hpp"

namespace dt::train {

namespace {

using Json = nlohmann::ordered_json;
using optim::LearningRateSchedule;

std::optional<LearningRateSchedule> parse_schedule(const std::string& text) {
  constexpr std::int64_t most_steps = std::int64_t{1} << 56;
  const auto object = JsonValue::parse_if_object(text);
  if (!object) return std::nullopt;
  try {
    const auto kind = parse_name<optim::LearningRateScheduleKind>(object->string("kind"));
    const auto shape = parse_name<optim::DecayShape>(object->string("decay_shape", "linear"));
    if (!kind || !shape) return std::nullopt;  // this dt does not know them
    return LearningRateSchedule{
        .kind = *kind,
        .lr = object->number("lr"),
        .min_lr = object->number("min_lr"),
        .warmup_steps = object->integer("warmup_steps", 0, most_steps),
        .decay_steps = object->integer("decay_steps", 0, most_steps),
        .total_steps = object->integer("total_steps", 0, most_steps),
        .decay_shape = *shape,
        .final_steps = object->has("final_steps") ? object->integer("final_steps", 0, most_steps) : 0};
  } catch (const Error&) {  // the text is no schedule
    return std::nullopt;
  }
}

Json members_of(const LearningRateSchedule& schedule) {
  return parse_json(describe_schedule(schedule), {"schedule"});
}

/// Returns whether two schedules differ in rate at a step from `first` to `last`. In long ranges it
/// samples steps: schedules that cross agree only at single steps.
bool differ(const LearningRateSchedule& a, const LearningRateSchedule& b, std::int64_t first,
            std::int64_t last) {
  constexpr std::int64_t max_looks = 1000;
  const std::int64_t stride = std::max<std::int64_t>(1, (last - first) / max_looks);
  const auto at = [&](std::int64_t step) { return a.at(step) != b.at(step); };
  for (std::int64_t step = first; step <= last; step += stride) {
    if (at(step)) return true;
  }
  for (const LearningRateSchedule& s : {a, b}) {
    for (const std::int64_t step : {s.warmup_steps, s.total_steps - s.decay_steps + 1,
                                    s.total_steps - s.final_steps, s.total_steps, last}) {
      if (step >= first && step <= last && at(step)) return true;
    }
  }
  return false;
}

std::string length_option(const plan::DurationRequest& duration) {
  if (duration.tokens) return "--tokens";
  return duration.epochs ? "--epochs" : "--steps";
}

/// Returns the option that determines a member of the schedule.
std::string option_of(const std::string& member, const plan::Plan& plan) {
  const plan::LearningRateRequest& asked = plan.learning_rate;
  const bool is_lr = member == "lr" || (member == "min_lr" && !asked.minimum);
  if (is_lr) return asked.reference_batch ? "--lr or --global-batch with --lr-reference-batch" : "--lr";
  if (member == "kind") return "--schedule";
  if (member == "min_lr") return "--min-lr";
  if (member == "decay_shape") return "--decay-shape";
  if (member == "final_steps") return "--final-steps";
  if (member == "warmup_steps" && asked.warmup_steps) return "--warmup-steps";
  if (member == "decay_steps" && asked.decay_steps) return "--decay-steps";
  return length_option(plan.duration);
}

}  // namespace

std::string describe_schedule(const optim::LearningRateSchedule& s) {
  return Json{{"kind", name_of(s.kind)},
              {"lr", s.lr},
              {"min_lr", s.min_lr},
              {"warmup_steps", s.warmup_steps},
              {"decay_steps", s.decay_steps},
              {"total_steps", s.total_steps},
              {"decay_shape", name_of(s.decay_shape)},
              {"final_steps", s.final_steps}}
      .dump();
}

std::string describe_schedule_change(const std::string& then, const plan::Plan& plan, std::int64_t step) {
  const LearningRateSchedule& now = plan.schedule;
  const auto old = parse_schedule(then);
  if (!old) return "";
  const std::int64_t first = step + 1, last = std::max(first, now.total_steps);
  if (!differ(*old, now, first, last)) return "";
  const Json before = members_of(*old), after = members_of(now);
  std::vector<std::pair<std::string, std::string>> options;  // options and their changes
  // A member matters if the new schedule with the member's old value has other rates. Two members
  // may hide each other, so that none matters alone. A member then matters if the old schedule with
  // its new value has other rates.
  const auto collect = [&](bool into_old) {
    for (const auto& [member, value] : after.items()) {
      if (before[member] == value) continue;
      Json mixed = into_old ? before : after;
      mixed[member] = into_old ? value : before[member];
      if (!differ(*parse_schedule(mixed.dump()), into_old ? *old : now, first, last)) continue;
      const std::string option = option_of(member, plan);
      const std::string change = fmt::format("{} {} → {}", member, before[member].dump(), value.dump());
      const auto found = std::ranges::find(options, option, &std::pair<std::string, std::string>::first);
      if (found == options.end())
        options.emplace_back(option, change);
      else
        found->second += ", " + change;
    }
  };
  collect(false);
  if (options.empty()) collect(true);
  std::vector<std::string> texts;
  for (const auto& [option, changes] : options) texts.push_back(fmt::format("{} ({})", option, changes));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace dt::train
