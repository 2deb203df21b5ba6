#pragma once
// Checks that hosts or GPUs have the memory that training takes, and finds what would take less.

#include <cstdint>
#include <functional>
#include <string>

#include "plan/plan.hpp"

namespace dt::plan {

struct Settings;  // plan/settings.hpp

/// Returns the plan that other settings would make for the same ranks.
/// Errors: usage, there is no such plan.
using Replan = std::function<Plan(const Settings&)>;

/// Returns the bytes of the plan's GPU that were free at the start, less what drivers and libraries
/// take.
std::uint64_t usable_gpu_bytes(const Plan& plan);

/// Describes the memory that any process has taken of the plan's GPU since the start, next to the
/// estimate for this job's GPU that needs most.
/// Errors: environment.
std::string describe_gpu_memory(const Plan& plan);

/// Returns options with which the needs of a host, or of a GPU, would fit its memory, or "" if
/// there are none: "--zero 2 or --pp 4". Each is the least change of its kind. The kinds are more
/// recomputation, sequence parallelism, a higher stage of ZeRO, a longer pipeline, and layers or
/// sequences divided among more ranks. If none of these suffices alone, a longer pipeline with ZeRO
/// is tried.
std::string suggest_options_that_fit(const Settings& settings, const Plan& plan, const Replan& replan,
                                     const std::function<std::uint64_t(const Plan&)>& needed_bytes,
                                     std::uint64_t host_bytes);

/// Checks that memory suffices.
/// Errors: usage, with the nearest options that would do. On CPUs: the state of a host's ranks
/// exceeds its memory. On GPUs, whose memory cannot be swapped: all that a GPU's ranks need exceeds
/// what is free there, or what they need beside the GPU exceeds their host's memory.
void check_memory(const Settings& settings, const Plan& plan, const Replan& replan, std::uint64_t host_bytes);

}  // namespace dt::plan
