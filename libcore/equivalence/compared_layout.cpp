#include "equivalence/compared_layout.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/text.hpp"
#include "model/layout.hpp"

namespace dt::equivalence {

namespace {

void check_ranks(const ComparedLayout& layout, const model::LayoutText& text, int num_ranks) {
  if (layout.ranks <= num_ranks) return;
  const std::int64_t each = layout.settings.ranks_per_model();
  const char* const most = layout.settings.tp * layout.settings.cp > 1 ? "pp × cp × tp" : "pp";
  throw text.error(
      fmt::format("needs {} ranks, there are {}", layout.ranks, num_ranks),
      fmt::format("{} of at most {} would do, or start with {} ranks", each > num_ranks ? most : "dp",
                  each > num_ranks ? num_ranks : num_ranks / each, layout.ranks));
}

/// Refuses micro-batches that do not divide the batch, and names the nearest that do.
void check_micro_batch(const ComparedLayout& layout, const model::LayoutText& text) {
  const std::int64_t batch = layout.settings.global_batch, micro_batch = layout.settings.micro_batch;
  if (batch % micro_batch == 0) return;
  std::int64_t below = std::min(micro_batch, batch), above = micro_batch;
  while (batch % below != 0) --below;
  while (above < batch && batch % above != 0) ++above;
  throw text.error(fmt::format("micro-batches of {} do not divide --global-batch {}", micro_batch, batch),
                   above > batch || batch % above != 0 || above == below
                       ? fmt::format("micro-batch={} would do", below)
                       : fmt::format("micro-batch={} or micro-batch={} would do", below, above));
}

void read_cuts(const model::LayoutText& text, plan::Settings& s) {
  const std::int64_t pp = s.pp, virtual_stages = s.virtual_stages;
  text.read("tp", 1, plan::max_stages, s.tp);
  text.read("cp", 1, plan::max_stages, s.cp);
  text.read("sp", s.sequence_parallel);
  if (text.has("sp") && s.sequence_parallel && s.tp == 1)
    throw text.error("sp=on without tp", "add tp=2 or more");
  text.read("pp", 1, plan::max_stages, s.pp);
  text.read("virtual-stages", 1, plan::max_stages, s.virtual_stages);
  text.read("schedule", s.pp_schedule);
  if (s.pp != pp || s.virtual_stages != virtual_stages) s.stage_units.clear();  // they are for other stages
  if (text.has("stage-units")) s.stage_units = split(text.value("stage-units"), '+');
}

ComparedLayout parse_layout(const std::string& name, const plan::Settings& base, int num_ranks) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  constexpr std::array keys = {
      "pp", "schedule", "virtual-stages", "stage-units",       "dp",        "tp",          "cp",
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
    throw text.error("zero-group without zero", "add zero=1, 2 or 3");
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
  if (layouts.empty()) throw usage_error("--compare-layouts '{}' names no layout", text);
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

}  // namespace dt::equivalence
