#include "plan/memory/memory_fit.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "plan/gpt2_job.hpp"
#include "plan/memory/memory_estimate.hpp"

using namespace dt;
using namespace dt::plan;
using dt_test::Job, dt_test::whole_state;

namespace {

constexpr std::uint64_t plenty = std::uint64_t{1} << 40;

std::string refusal(const Job& job, std::uint64_t host_bytes) {
  try {
    check_memory(
        job.settings, job.plan(), [&](const Settings& s) { return job.plan(s); }, host_bytes);
    return {};
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.message();
  }
}

}  // namespace

TEST_CASE("state beyond a host's memory is refused with the nearest that would do") {
  Job job(4);
  const auto whole = static_cast<std::uint64_t>(whole_state());
  CHECK(refusal(job, 5 * whole).empty());
  CHECK_THAT(refusal(job, 3 * whole),
             Catch::Contains("pp=1,dp=4,tp=1,zero=0: weights, gradients and optimizer "
                             "state of 4 ranks need") &&
                 Catch::EndsWith("; use --zero 1 or --pp 2 or --tp 2"));
  CHECK_THAT(refusal(job, 2 * whole), Catch::EndsWith("; use --zero 2 or --pp 4 or --tp 4"));
  CHECK_THAT(refusal(job, whole + whole / 20), Catch::EndsWith("; use --zero 3 or --tp 4"));
  CHECK_THAT(refusal(job, whole / 2),
             Catch::EndsWith("; no layout of these ranks fits: start more ranks, on more hosts"));
  job.settings.pp = 2, job.settings.stage_units = {"12", "2"};
  CHECK_THAT(refusal(job, 2 * whole), Catch::Contains("--pp 4 without --stage-units"));
  job.settings.stage_units.clear();
  job.settings.pp = 2, job.settings.zero = 3;
  CHECK_THAT(refusal(job, whole), Catch::Contains("pp=2,dp=2,tp=1,zero=3"));
}

TEST_CASE("where neither will do alone, a longer pipeline and ZeRO are named together") {
  Job job(28, 2);
  job.settings.global_batch = 28;
  job.settings.zero_group = "2";
  CHECK_THAT(refusal(job, static_cast<std::uint64_t>(0.4 * whole_state())),
             Catch::EndsWith("; use --pp 14 --zero 3"));
}

TEST_CASE("what would bring the whole estimate down may be to compute again") {
  Job job(1);
  const auto needed = [](const Plan& plan) { return host_memory_bytes(plan, estimate_memory(plan)); };
  const auto nearest = [&](std::uint64_t limit) {
    return suggest_options_that_fit(
        job.settings, job.plan(), [&](const Settings& s) { return job.plan(s); }, needed, limit);
  };
  const std::uint64_t all = needed(job.plan());
  CHECK(nearest(all - 1) == "--recompute selective");
  Settings full = job.settings;
  full.recompute = Recompute::full;
  CHECK(nearest(needed(job.plan(full))) == "--recompute full");
  CHECK(nearest(all / 2).empty());
}

TEST_CASE("what makes long sequences fit may be to divide them") {
  Job job(2);
  job.settings.recompute = Recompute::full;
  const auto needed = [](const Plan& plan) { return host_memory_bytes(plan, estimate_memory(plan)); };
  Settings divided = job.settings;
  divided.cp = 2;
  CHECK_THAT(suggest_options_that_fit(
                 job.settings, job.plan(), [&](const Settings& s) { return job.plan(s); }, needed,
                 needed(job.plan(divided))),
             Catch::Contains("--cp 2"));
}

TEST_CASE("ranks that share layers may divide sequences where they do not divide features") {
  Job job(2);
  job.settings.tp = 2;
  const auto needed = [](const Plan& plan) { return host_memory_bytes(plan, estimate_memory(plan)); };
  const auto nearest = [&](const Settings& asked, std::uint64_t limit) {
    return suggest_options_that_fit(
        asked, job.plan(asked), [&](const Settings& s) { return job.plan(s); }, needed, limit);
  };
  Settings divided = job.settings;
  divided.sequence_parallel = true;
  const std::uint64_t limit = needed(job.plan(divided));
  REQUIRE(limit < needed(job.plan()));
  CHECK_THAT(nearest(job.settings, limit), Catch::Contains("--sequence-parallel"));
  CHECK_THAT(nearest(divided, limit - 1), !Catch::Contains("--sequence-parallel"));
  job.settings.tp = 1;
  CHECK_THAT(nearest(job.settings, limit), !Catch::Contains("--sequence-parallel"));
}

TEST_CASE(
    "what ranks of a GPU need beyond what is free there, or on their host, is refused, with what would do") {
  const auto on_gpus = [](const Job& job, int gpus, std::uint64_t free) {
    return [=](const Settings& s) {
      Plan plan = job.plan(s);
      plan.device = Device::gpu(0);
      plan.launch.gpu = {.name = "G", .address = "a", .memory_bytes = free};
      plan.launch.gpu_free_bytes = free;
      plan.launch.gpus_per_node = gpus;
      return plan;
    };
  };
  const auto refused = [&](const Job& job, int gpus, std::uint64_t free, std::uint64_t host_bytes = plenty) {
    const Replan replan = on_gpus(job, gpus, free);
    try {
      check_memory(job.settings, replan(job.settings), replan, host_bytes);
      return std::string();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      return error.message();
    }
  };
  const Job job(4);
  const MemoryEstimate memory = estimate_memory(on_gpus(job, 4, plenty)(job.settings)).front();
  const std::uint64_t of_rank = memory.device_bytes() + memory.batches;
  CHECK(refused(job, 4, of_rank * 11 / 10).empty());
  CHECK_THAT(refused(job, 2, of_rank * 11 / 10),
             Catch::Contains("cuda:0 (G, a)") && Catch::EndsWith("; use --pp 4 or --tp 2"));
  CHECK(refused(job, 2, of_rank * 21 / 10).empty());
  CHECK_THAT(refused(job, 4, of_rank / 100), Catch::Contains("on more GPUs"));

  const std::uint64_t beside = 4 * memory.host_bytes();
  CHECK(refused(job, 4, plenty, beside).empty());
  CHECK_THAT(refused(job, 4, plenty, beside - 1),
             Catch::Contains(" of memory per host for checkpoints, communication and data; this host has ") &&
                 Catch::Contains("; use --"));
  CHECK_THAT(refused(job, 4, plenty, 1000), Catch::Contains("on more hosts"));
}
