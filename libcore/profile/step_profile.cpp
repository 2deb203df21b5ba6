#include "profile/step_profile.hpp"

#include <fmt/format.h>
#include <map>

namespace dt::profile {

std::string action_label(const StepProfile& profile, const parallel::Action& action) {
  std::string name(name_of(action.kind));
  if (action.payload != parallel::Payload::none) name += fmt::format(" {}", name_of(action.payload));
  if (action.unit >= 0) name += " " + profile.unit_names.at(static_cast<std::size_t>(action.unit));
  return name;
}

namespace {

using parallel::ActionKind;

/// Returns sums of seconds(action) by kind, in the order of the kinds.
template <class Seconds>
TimeBreakdown by_kind(const StepProfile& profile, const Seconds& seconds) {
  std::map<ActionKind, double> sums;
  for (const TracedAction& traced : profile.actions) sums[traced.action.kind] += seconds(traced);
  TimeBreakdown shares;
  for (const auto& [kind, sum_s] : sums) shares.emplace_back(name_of(kind), sum_s);
  return shares;
}

double sum_of(const TimeBreakdown& shares) {
  double sum_s = 0;
  for (const auto& [name, seconds] : shares) sum_s += seconds;
  return sum_s;
}

std::string percentages(const TimeBreakdown& shares, double whole_s) {
  std::vector<std::string> words;
  for (const auto& [name, seconds] : shares)
    words.push_back(fmt::format("{} {:.1f} %", name, 100 * seconds / whole_s));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

TimeBreakdown host_time_breakdown(const StepProfile& profile) {
  TimeBreakdown shares = by_kind(profile, [](const TracedAction& traced) { return traced.host.compute_s(); });
  if (profile.is_on_device) shares = {{"enqueuing", sum_of(shares)}};
  double exposed_s = 0;
  for (const Interval& exposure : profile.exposed_communication) exposed_s += exposure.duration_s();
  shares.emplace_back("exposed communication", exposed_s);
  shares.emplace_back("waiting for data", profile.data_wait_s);
  shares.emplace_back("other host work", profile.step_time.duration_s() - sum_of(shares));
  return shares;
}

TimeBreakdown device_time_breakdown(const StepProfile& profile) {
  TimeBreakdown shares =
      by_kind(profile, [](const TracedAction& traced) { return traced.device.duration_s(); });
  shares.emplace_back("idle GPU", profile.step_time.duration_s() - sum_of(shares));
  return shares;
}

std::string summarize_step(const StepProfile& profile) {
  const double whole_s = profile.step_time.duration_s();
  const std::string device =
      profile.is_on_device ? percentages(device_time_breakdown(profile), whole_s) + "; host: " : "";
  return fmt::format("{:.3g} s: {}{}", whole_s, device, percentages(host_time_breakdown(profile), whole_s));
}

}  // namespace dt::profile
