#include "train/memory_estimate.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"

using namespace dt;
using namespace dt::train;

namespace {

constexpr std::int64_t table_numel = 50257 * 768;  // GPT-2's, which its head shares

/// GPT-2 over so many ranks, all of one host unless said otherwise.
class Job {
 public:
  explicit Job(int ranks, int ranks_per_node = 0)
      : spec_(model::load_model_spec("gpt2-124m")),
        launch_{.num_ranks = ranks, .ranks_per_node = ranks_per_node > 0 ? ranks_per_node : ranks} {
    settings.global_batch = 16;
  }

  Plan plan(const Settings& s) const {
    Plan plan;
    plan.spec = spec_;
    plan.launch = launch_;
    plan.sequence_length = 64;
    plan.recompute = s.recompute == "full"        ? Recompute::full
                     : s.recompute == "selective" ? Recompute::selective
                                                  : Recompute::none;
    plan.global_batch = plan.micro_batches_per_step = s.global_batch;
    plan.micro_batch = 1;
    plan.layout = choose_layout(s, spec_, plan.sequence_length, launch_);
    plan.grad_lanes = plan.layout.dp;
    return plan;
  }
  Plan plan() const { return plan(settings); }

  std::string refusal(std::uint64_t host_bytes) const {
    try {
      check_memory(
          settings, plan(), [&](const Settings& s) { return plan(s); }, host_bytes);
      return {};
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      return error.message();
    }
  }

  Settings settings;

 private:
  model::ModelSpec spec_;
  Launch launch_;
};

double parameters() {
  return static_cast<double>(model::ParameterTable(model::load_model_spec("gpt2-124m")).num_parameters());
}

/// Of one rank that holds all: weights, gradients (the tied table's ends apart) and two moments.
double whole_state() {
  return 16 * parameters() + 4 * table_numel;
}

}  // namespace

TEST_CASE("a host holds what all its ranks do, divided as the layout says") {
  Job job(4);
  const auto holds = [&](double bytes) {
    CHECK(static_cast<double>(host_state_bytes(job.plan())) == Approx(bytes).epsilon(1e-3));
  };
  holds(4 * whole_state());
  job.settings.zero = 1;
  holds(4 * (whole_state() - 8 * parameters()) + 8 * parameters());
  job.settings.zero = 3;
  holds(whole_state());
  job.settings.zero = 0, job.settings.pp = 4;
  holds(whole_state() + 4 * table_numel);  // the last stage has weights of the table, too
}

TEST_CASE("of several hosts the one whose ranks take most counts") {
  Job job(4, 2);
  job.settings.pp = 2;
  job.settings.stage_units = {"13", "1"};
  CHECK(static_cast<double>(host_state_bytes(job.plan())) == Approx(2 * 16 * parameters()).epsilon(1e-3));
}

TEST_CASE("evaluation holds weights alone") {
  Job job(2);
  Plan plan = job.plan();
  plan.micro_batches_per_step = 0;
  CHECK(static_cast<double>(host_state_bytes(plan)) == Approx(2 * 4 * parameters()).epsilon(1e-3));
}

TEST_CASE("stages hold the activations that their lists make them hold") {
  Job job(4);
  job.settings.pp = 4;
  const auto activations = [&](const char* schedule) {
    job.settings.pp_schedule = schedule;
    std::vector<std::size_t> bytes;
    for (const MemoryEstimate& memory : estimate_memory(job.plan())) bytes.push_back(memory.activations);
    return bytes;
  };
  const auto one_f_one_b = activations("1f1b"), gpipe = activations("gpipe");
  REQUIRE(one_f_one_b.size() == 4);
  CHECK(one_f_one_b[0] > one_f_one_b[1]);  // as many blocks, of a micro-batch more
  CHECK(one_f_one_b[1] > one_f_one_b[2]);
  CHECK(gpipe[1] >
        3 * one_f_one_b[1] - 2 * (std::size_t{30} << 20));  // 16 micro-batches to 3, kernels' share aside
  job.settings.recompute = "full";
  CHECK(activations("gpipe")[1] < gpipe[1] / 4);
}

TEST_CASE("the rank with the most micro-batches is the one that is told of") {
  Job job(3);
  job.settings.global_batch = 4;  // 1, 1 and 2
  const std::vector<MemoryEstimate> stages = estimate_memory(job.plan());
  REQUIRE(stages.size() == 1);
  CHECK(stages.front().batches == 4 * 2 * 64 * 4);
  CHECK(host_memory_bytes(job.plan(), stages) == 3 * stages.front().total());
}

TEST_CASE("state beyond a host's memory is refused with the nearest that would do") {
  Job job(4);
  const auto whole = static_cast<std::uint64_t>(whole_state());
  CHECK(job.refusal(5 * whole).empty());
  CHECK_THAT(job.refusal(3 * whole),
             Catch::Contains("pp=1,dp=4,tp=1,zero=0: weights, gradients and optimizer "
                             "state of 4 ranks on a host take") &&
                 Catch::EndsWith("; --zero 1 or --pp 2 would do"));
  CHECK_THAT(job.refusal(2 * whole), Catch::EndsWith("; --zero 2 or --pp 4 would do"));
  CHECK_THAT(job.refusal(whole + whole / 20), Catch::EndsWith("; --zero 3 would do"));
  CHECK_THAT(job.refusal(whole / 2),
             Catch::EndsWith("no layout of these ranks would do: start more of them, on "
                             "more hosts"));
  job.settings.pp = 2, job.settings.zero = 3;
  CHECK_THAT(job.refusal(whole), Catch::Contains("pp=2,dp=2,tp=1,zero=3"));
}

TEST_CASE("where neither will do alone, a longer pipeline and ZeRO are named together") {
  Job job(28, 2);
  job.settings.global_batch = 28;
  job.settings.zero_group = "2";
  CHECK_THAT(job.refusal(static_cast<std::uint64_t>(0.4 * whole_state())),
             Catch::EndsWith("; --pp 7 --zero 3 would do"));
}

TEST_CASE("what would bring the whole estimate down may be to compute again") {
  Job job(1);
  const auto needed = [](const Plan& plan) { return host_memory_bytes(plan, estimate_memory(plan)); };
  const auto nearest = [&](std::uint64_t limit) {
    return nearest_that_fit(
        job.settings, job.plan(), [&](const Settings& s) { return job.plan(s); }, needed, limit);
  };
  const std::uint64_t all = needed(job.plan());
  CHECK(nearest(all - 1) == "--recompute selective");
  Settings full = job.settings;
  full.recompute = "full";
  CHECK(nearest(needed(job.plan(full))) == "--recompute full");
  CHECK(nearest(all / 2).empty());
}
