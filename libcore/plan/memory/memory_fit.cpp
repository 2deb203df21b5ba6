#include "plan/memory/memory_fit.hpp"

#include <algorithm>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/text/text.hpp"
#include "plan/memory/memory_estimate.hpp"
#include "plan/settings.hpp"

namespace dt::plan {

namespace {

/// Makes settings that differ in how training is laid out, the most similar to the asked ones first.
class Variations {
 public:
  Variations(const Settings& asked, const Plan& plan) : asked_(asked), plan_(plan) {}

  std::vector<Settings> of_recompute() const {
    std::vector<Settings> list;
    if (plan_.recompute == Recompute::none)
      list.push_back(with(asked_, [](Settings& s) { s.recompute = Recompute::selective; }));
    if (plan_.recompute != Recompute::full)
      list.push_back(with(asked_, [](Settings& s) { s.recompute = Recompute::full; }));
    return list;
  }
  /// Divides rows of norms and residuals among tensor-parallel ranks.
  std::vector<Settings> of_sequence() const {
    if (plan_.layout.tp == 1 || plan_.layout.sequence_parallel) return {};
    return {with(asked_, [](Settings& s) { s.sequence_parallel = true; })};
  }
  std::vector<Settings> of_zero(const Settings& base) const {
    std::vector<Settings> list;
    for (std::int64_t zero = base.zero + 1; zero <= 3 && plan_.micro_batches_per_step > 0; ++zero)
      list.push_back(with(base, [&](Settings& s) { s.zero = zero; }));
    return list;
  }
  /// Lengthens the pipeline without leaving a rank out.
  std::vector<Settings> of_pipeline() const {
    std::vector<Settings> list;
    const int ranks = plan_.layout.size();
    for (int pp = plan_.layout.pp + 1; pp <= ranks; ++pp) {
      if (ranks % pp == 0)
        list.push_back(with(asked_, [&](Settings& s) { s.pp = pp, s.stage_units.clear(); }));
    }
    return list;
  }
  /// Divides layers among more ranks without leaving a rank out. The number of heads may not allow
  /// it.
  std::vector<Settings> of_tensor() const {
    std::vector<Settings> list;
    const int ranks = plan_.layout.size();
    const int others = plan_.layout.pp * plan_.layout.cp;
    for (int tp = plan_.layout.tp + 1; tp * others <= ranks; ++tp) {
      if (ranks % (tp * others) == 0) list.push_back(with(asked_, [&](Settings& s) { s.tp = tp; }));
    }
    return list;
  }
  /// Divides sequences among more ranks, which leaves each rank fewer activations.
  std::vector<Settings> of_context() const {
    std::vector<Settings> list;
    const int ranks = plan_.layout.size();
    const int others = plan_.layout.pp * plan_.layout.tp;
    for (int cp = plan_.layout.cp + 1; cp * others <= ranks; ++cp) {
      if (ranks % (cp * others) == 0) list.push_back(with(asked_, [&](Settings& s) { s.cp = cp; }));
    }
    return list;
  }
  std::vector<Settings> of_both() const {
    std::vector<Settings> list;
    for (const Settings& longer : of_pipeline()) {
      for (const Settings& both : of_zero(longer)) list.push_back(both);
    }
    return list;
  }

 private:
  template <class Change>
  static Settings with(Settings settings, const Change& change) {
    change(settings);
    return settings;
  }
  const Settings& asked_;
  const Plan& plan_;
};

std::string difference(const Settings& asked, const Settings& other) {
  std::vector<std::string> options;
  if (other.recompute != asked.recompute)
    options.push_back(fmt::format("--recompute {}", name_of(other.recompute)));
  if (other.sequence_parallel != asked.sequence_parallel) options.emplace_back("--sequence-parallel");
  if (other.tp != asked.tp) options.push_back(fmt::format("--tp {}", other.tp));
  if (other.cp != asked.cp) options.push_back(fmt::format("--cp {}", other.cp));
  if (other.pp != asked.pp) options.push_back(fmt::format("--pp {}", other.pp));
  if (other.zero != asked.zero) options.push_back(fmt::format("--zero {}", other.zero));
  if (other.stage_units != asked.stage_units) options.push_back("without --stage-units");
  return fmt::format("{}", fmt::join(options, " "));
}

/// Returns a note on what NCCL takes of the memory, on the stage that needs most, or "" if ranks do
/// not use NCCL.
std::string describe_nccl_memory(const Plan& plan) {
  std::size_t most = 0;
  if (plan.micro_batches_per_step > 0) {
    for (const MemoryEstimate& memory : estimate_memory(plan)) most = std::max(most, memory.nccl);
  }
  if (most == 0) return "";
  return fmt::format(", including {} per rank for NCCL (NCCL_MAX_CTAS and NCCL_BUFFSIZE limit it)",
                     format_bytes(most));
}

void check_gpu_memory(const Settings& settings, const Plan& plan, const Replan& replan) {
  const std::uint64_t needed = gpu_memory_bytes(plan), usable = usable_gpu_bytes(plan);
  if (needed <= usable) return;
  const std::string fitting = suggest_options_that_fit(settings, plan, replan, gpu_memory_bytes, usable);
  throw Error(
      ErrorKind::usage,
      fmt::format("{}: training needs {} of GPU memory{}; {} ({}, {}) has {}, of which {} is available",
                  plan.layout.to_string(), format_bytes(needed), describe_nccl_memory(plan),
                  plan.device.to_string(), plan.launch.gpu.name, plan.launch.gpu.address,
                  format_bytes(plan.launch.gpu.memory_bytes), format_bytes(usable)),
      fitting.empty() ? "no layout of these ranks fits: start more ranks, on more GPUs, or use --device cpu"
                      : "use " + fitting);
}

/// Checks the host memory that training on GPUs takes. Most of it is pinned, and cannot be swapped
/// either.
void check_memory_beside(const Settings& settings, const Plan& plan, const Replan& replan,
                         std::uint64_t host_bytes) {
  if (plan.micro_batches_per_step == 0) return;  // evaluation takes almost none
  const auto needed_bytes = [](const Plan& p) { return host_memory_bytes(p, estimate_memory(p)); };
  const std::uint64_t needed = needed_bytes(plan);
  if (needed <= host_bytes) return;
  const std::string fitting = suggest_options_that_fit(settings, plan, replan, needed_bytes, host_bytes);
  throw Error(
      ErrorKind::usage,
      fmt::format("{}: training on GPUs needs {} of memory per host for checkpoints, communication "
                  "and data; this host has {}",
                  plan.layout.to_string(), format_bytes(needed), format_bytes(host_bytes)),
      fitting.empty() ? "no layout of these ranks fits: start more ranks, on more hosts" : "use " + fitting);
}

}  // namespace

std::uint64_t usable_gpu_bytes(const Plan& plan) {
  const std::uint64_t margin = plan.launch.gpu.memory_bytes / 64;
  return plan.launch.gpu_free_bytes - std::min<std::uint64_t>(plan.launch.gpu_free_bytes, margin);
}

std::string describe_gpu_memory(const Plan& plan) {
  const std::uint64_t before = plan.launch.gpu_free_bytes, now = accelerator().free_bytes(plan.device);
  const std::uint64_t taken = before - std::min(before, now), estimate = gpu_memory_bytes(plan);
  return fmt::format("GPU memory of {}: {} used, {} estimated ({:.3f} of the memory used)",
                     plan.device.to_string(), format_bytes(taken), format_bytes(estimate),
                     static_cast<double>(estimate) / static_cast<double>(std::max<std::uint64_t>(taken, 1)));
}

std::string suggest_options_that_fit(const Settings& settings, const Plan& plan, const Replan& replan,
                                     const std::function<std::uint64_t(const Plan&)>& needed_bytes,
                                     std::uint64_t host_bytes) {
  std::vector<std::string> found;
  const auto add_first = [&](const std::vector<Settings>& variations) {
    for (const Settings& other : variations) {
      try {
        const Plan instead = replan(other);
        if (needed_bytes(instead) > host_bytes) continue;
      } catch (const Error&) {  // no layout at all
        continue;
      }
      found.push_back(difference(settings, other));
      return;
    }
  };
  const Variations variations(settings, plan);
  add_first(variations.of_recompute());
  add_first(variations.of_sequence());
  add_first(variations.of_zero(settings));
  add_first(variations.of_pipeline());
  add_first(variations.of_tensor());
  add_first(variations.of_context());
  if (found.empty()) add_first(variations.of_both());
  return fmt::format("{}", fmt::join(found, " or "));
}

void check_memory(const Settings& settings, const Plan& plan, const Replan& replan,
                  std::uint64_t host_bytes) {
  if (plan.device != Device::host()) {
    check_gpu_memory(settings, plan, replan);
    return check_memory_beside(settings, plan, replan, host_bytes);
  }
  const std::uint64_t needed = host_state_bytes(plan);
  if (needed <= host_bytes) return;
  const int ranks = std::min(plan.layout.size(), std::max(1, plan.launch.ranks_per_node));
  const std::string fitting = suggest_options_that_fit(settings, plan, replan, host_state_bytes, host_bytes);
  throw Error(
      ErrorKind::usage,
      fmt::format("{}: {} of {} need {} on one host; this host has {}", plan.layout.to_string(),
                  plan.micro_batches_per_step > 0 ? "weights, gradients and optimizer state" : "weights",
                  ranks == 1 ? "a rank" : fmt::format("{} ranks", ranks), format_bytes(needed),
                  format_bytes(host_bytes)),
      fitting.empty() ? "no layout of these ranks fits: start more ranks, on more hosts" : "use " + fitting);
}

}  // namespace dt::plan
