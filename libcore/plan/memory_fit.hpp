#pragma once
// Whether what training takes of memory is there, on hosts or GPUs, and what would take less.

#include <cstdint>
#include <functional>
#include <string>

#include "plan/plan.hpp"

namespace dt::plan {

/// The plan that other settings would make for the same ranks. Error{usage}: none.
using Replan = std::function<Plan(const Settings&)>;

/// Of the plan's GPU what was free at the start, less what drivers and libraries take.
std::uint64_t usable_gpu_bytes(const Plan& plan);

/// What has been taken of the plan's GPU since the start, by whomever, beside what was estimated of this
/// job's GPU that needs most. Errors: environment.
std::string describe_gpu_memory(const Plan& plan);

/// Options that would bring what a host, or a GPU, needs within its memory, each the least of its kind: more
/// computed again, sequence parallelism, a higher stage of ZeRO, a longer pipeline, layers or sequences
/// divided among more ranks, or, where none of these will do alone, a longer pipeline and ZeRO together.
/// "--zero 2 or --pp 4", "" where nothing would.
std::string nearest_that_fit(const Settings& settings, const Plan& plan, const Replan& replan,
                             const std::function<std::uint64_t(const Plan&)>& needed_bytes,
                             std::uint64_t host_bytes);

/// Error{usage}, with the nearest that would do: the state of a host's ranks exceeds its memory, or, on GPUs,
/// whose memory cannot be swapped, all that a GPU's ranks need what is free there, or what they need beside
/// it their host's memory.
void check_memory(const Settings& settings, const Plan& plan, const Replan& replan, std::uint64_t host_bytes);

}  // namespace dt::plan
