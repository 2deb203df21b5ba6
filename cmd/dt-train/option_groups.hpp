#pragma once
// The groups of dt-train's option table, a file per subject.

#include <cstdint>
#include <initializer_list>

#include "base/cli/options.hpp"
#include "plan/settings.hpp"

namespace dt::train_tool {

/// Upper limit of step counts. max_steps · max_batch stays below 2⁶⁴.
inline constexpr std::int64_t max_steps = 1'000'000'000'000;

// Options that select something other than training, or a run that is not kept, and make other
// options useless.
inline constexpr std::initializer_list<const char*> evaluation = {"eval-only"};
inline constexpr std::initializer_list<const char*> proofs = {"compare-layouts", "show-schedule"};
inline constexpr std::initializer_list<const char*> all_but_kept_runs = {"eval-only", "compare-layouts",
                                                                         "show-schedule"};

// Each adds one group of options to the table. `settings` must outlive the table.
void add_model_and_data(OptionTable& table, plan::Settings& settings);
void add_duration(OptionTable& table, plan::Settings& settings);
void add_batch(OptionTable& table, plan::Settings& settings);
void add_precision(OptionTable& table, plan::Settings& settings);
void add_parallelism(OptionTable& table, plan::Settings& settings);
void add_optimizer(OptionTable& table, plan::Settings& settings);
void add_checkpoints(OptionTable& table, plan::Settings& settings);
void add_evaluation(OptionTable& table, plan::Settings& settings);
void add_planning(OptionTable& table, plan::Settings& settings);

}  // namespace dt::train_tool
