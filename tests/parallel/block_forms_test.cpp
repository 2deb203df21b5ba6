// Compares steps of models whose blocks have other forms than a norm before each branch, divided among
// ranks, with steps of one rank.

#include "support/block_forms.hpp"

#include <numeric>

#include "parallel/state/comm_volume.hpp"
#include "parallel/trained_layout.hpp"

using namespace dt;
using namespace dt::parallel;
using namespace dt_test;
using model::SavedActivations;

namespace {

std::vector<test::BlockForm> forms(int layers) {
  return test::block_forms(grouped_spec(layers, true));
}

/// Returns the bytes that a rank's collectives have moved.
std::int64_t moved_bytes(comm::Communicator& world) {
  std::int64_t sum = 0;
  using enum comm::OperationKind;
  for (const comm::OperationKind kind : {all_reduce, all_gather, reduce_scatter})
    sum += world.engine().recorder().bytes(kind);
  return sum;
}

/// Runs a step of one rank. Returns the bytes that it moves, less those that the walk of its list finds.
std::int64_t excess_bytes(const Setting& setting, comm::Communicator& world) {
  const model::ParameterTable table(*setting.spec);
  Result result(setting, table);
  Rank rank(setting, table, *setting.spec, world);
  auto batch = test::Batch::arbitrary(*setting.spec, setting.micro_batches, setting.sequence);
  std::vector<model::MicroBatch> micro_batches;
  for (std::int64_t s = 0; s < batch.sequences; ++s) micro_batches.push_back(batch.micro_batch(s, s + 1));
  const std::int64_t before = moved_bytes(world);
  rank.step(micro_batches, 0, result);
  const std::int64_t moved = moved_bytes(world) - before;
  const CommVolume volume{.local = rank.local(),
                          .precision = setting.precision,
                          .rows = setting.sequence,
                          .hidden = setting.spec->hidden,
                          .block = block_exchanges(*setting.spec)};
  const std::vector<std::int64_t> told = volume.bytes_of(rank.list());
  return moved - std::accumulate(told.begin(), told.end(), std::int64_t{0});
}

}  // namespace

TEST_CASE("blocks of every form train divided as they do whole") {
  for (const test::BlockForm& form : forms(2)) {
    const Setting reference{.layers = 2, .precision = fp64, .sequence = 8, .spec = form.spec};
    const Result expected = train(alone(reference));
    for (const int tp : {2, 4}) {
      for (const bool divides : {false, true}) {
        for (const bool all : {false, true}) {
          Setting setting = cut(reference, tp, divides);
          setting.saved_activations = all ? SavedActivations::all : SavedActivations::matmuls;
          setting.recompute = tp == 4 && all;
          INFO(form.name << " " << setting.layout.to_string() << (all ? "" : " matmuls"));
          check_close(expected, train(setting), 1e-12);
        }
      }
    }
    for (const int cp : {2, 4}) {
      Setting setting = cut(reference, cp == 2 ? 2 : 1, cp == 2);
      setting.layout.cp = cp;
      setting.recompute = cp == 4;
      INFO(form.name << " " << setting.layout.to_string());
      check_close(expected, train(setting), 1e-12);
    }
  }
}

TEST_CASE("stages, zero-bubble schedules, dp, ZeRO and recompute change no bit of blocks of any form") {
  for (const test::BlockForm& form : forms(2)) {
    for (const bool divides : {false, true}) {
      const Setting reference = cut({.layers = 2, .sequence = 8, .spec = form.spec}, 2, divides);
      const Result expected = train(reference);
      for (const bool matmuls : {false, true}) {
        for (const bool recompute : {false, true}) {
          Setting setting = reference;
          setting.layout.pp = 2;
          setting.layout.dp = matmuls ? 2 : 1;
          setting.layout.zero = matmuls && recompute ? 1 : 0;
          if (!recompute) setting.layout.schedule = PipelineScheduleKind::zero_bubble;
          setting.layout = laid_out(setting.layout, num_units(setting));
          setting.saved_activations = matmuls ? SavedActivations::matmuls : SavedActivations::all;
          setting.recompute = recompute;
          INFO(form.name << " " << setting.layout.to_string());
          check_same(expected, train(setting));
        }
      }
    }
  }
}

TEST_CASE("blocks of every form take the memory that units tell") {
  for (const test::BlockForm& form : forms(4)) {
    for (const bool all : {false, true}) {
      for (const bool recompute : {false, true}) {
        if (recompute && !all) continue;  // as --recompute has it
        for (const int tp : {1, 2}) {
          Setting setting{.layers = 4,
                          .recompute = recompute,
                          .precision = fp64,
                          .sequence = 64,
                          .saved_activations = all ? SavedActivations::all : SavedActivations::matmuls,
                          .spec = form.spec};
          setting.layout = laid_out({.pp = 2, .tp = tp, .sequence_parallel = tp == 2}, num_units(setting));
          INFO(form.name << " " << setting.layout.to_string());
          train(setting, [&](Rank& rank) {
            check_held(setting, rank);
            check_scratch(setting, rank, 0.7);  // kernels of lower precision need more
          });
        }
      }
    }
  }
}

TEST_CASE("blocks of every form exchange the bytes that the walk of a list finds") {
  for (const test::BlockForm& form : forms(2)) {
    for (const bool divides : {false, true}) {
      for (const bool recompute : {false, true}) {
        const Setting setting =
            cut({.layers = 2, .recompute = recompute, .sequence = 8, .spec = form.spec}, 2, divides);
        INFO(form.name << (recompute ? " recomputed " : " ") << setting.layout.to_string());
        const int wrong = comm::run_threads(
            2, [&](comm::Communicator& world) { return excess_bytes(setting, world) == 0 ? 0 : 1; });
        CHECK(wrong == 0);
      }
    }
  }
}
