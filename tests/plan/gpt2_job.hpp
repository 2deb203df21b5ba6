#pragma once
// GPT-2 laid out over ranks, for estimates that run nothing.

#include "model/parameter_table.hpp"
#include "plan/choose_layout.hpp"
#include "plan/plan.hpp"
#include "plan/settings.hpp"

namespace dt_test {

inline constexpr std::int64_t table_numel = 50257 * 768;  // GPT-2's table, which its head shares

/// A job of GPT-2 over some ranks, all on one host by default.
class Job {
 public:
  explicit Job(int ranks, int ranks_per_node = 0)
      : spec_(dt::model::load_model_spec("gpt2-124m")),
        launch_{.num_ranks = ranks, .ranks_per_node = ranks_per_node > 0 ? ranks_per_node : ranks} {
    settings.global_batch = 16;
  }

  dt::plan::Plan plan(const dt::plan::Settings& s) const {
    dt::plan::Plan plan;
    plan.spec = spec_;
    plan.launch = launch_;
    plan.sequence_length = 64;
    plan.recompute = s.recompute;
    plan.global_batch = plan.micro_batches_per_step = s.global_batch;
    plan.micro_batch = 1;
    plan.layout = dt::plan::choose_layout(s, spec_, plan.sequence_length, launch_);
    plan.grad_lanes = plan.layout.dp;
    return plan;
  }
  dt::plan::Plan plan() const { return plan(settings); }

  dt::plan::Settings settings;

 private:
  dt::model::ModelSpec spec_;
  dt::plan::Launch launch_;
};

inline double parameters() {
  return static_cast<double>(
      dt::model::ParameterTable(dt::model::load_model_spec("gpt2-124m")).num_parameters());
}

/// Returns the bytes of a rank that holds everything: weights, gradients (one for each end of the
/// tied table) and two moments.
inline double whole_state() {
  return 16 * parameters() + 4 * table_numel;
}

}  // namespace dt_test
