// Compares steps of whole pipelines, with ranks as threads, with steps of one rank.

#include "parallel/trained_layout.hpp"

using namespace dt;
using namespace dt::parallel;
using namespace dt_test;

namespace {

struct Kind {
  PipelineScheduleKind schedule;
  int virtual_stages;
};
constexpr Kind kinds[] = {{PipelineScheduleKind::gpipe, 1},
                          {PipelineScheduleKind::one_f_one_b, 1},
                          {PipelineScheduleKind::interleaved, 2},
                          {PipelineScheduleKind::zero_bubble, 1},
                          {PipelineScheduleKind::zero_bubble, 2}};

}  // namespace

TEST_CASE("every schedule trains as one rank does, bit for bit") {
  const bool tied = GENERATE(true, false);
  const Setting reference{.tied = tied};
  const Result expected = train(alone(reference));
  for (const Kind& kind : kinds) {
    for (const int pp : {1, 2, 3, 4}) {
      for (const int dp : {1, 2}) {
        for (const int zero : {0, 1}) {
          if (zero > 0 && dp == 1) continue;
          Setting setting = reference;
          const model::Layout layout{.pp = pp,
                                     .dp = dp,
                                     .zero = zero,
                                     .schedule = kind.schedule,
                                     .virtual_stages = kind.virtual_stages};
          setting.layout = laid_out(layout, num_units(setting), pp == 2 ? 2 : 0);
          setting.recompute = (pp + dp + zero) % 2 == 0;
          INFO(layout.to_string() << (tied ? " tied" : "") << (setting.recompute ? " recompute" : ""));
          const Result result = train(setting);
          check_same(expected, result);
          check_ends(result, DType::f32);
        }
      }
    }
  }
}

TEST_CASE("replicas of a tied table's ends are summed before these meet") {
  for (const int zero : {1, 2}) {
    Setting setting{}, without{};
    without.layout = {.dp = 4, .zero = zero, .zero_group = 2};
    setting.layout = laid_out({.pp = 2, .dp = 4, .zero = zero, .zero_group = 2}, num_units(setting));
    INFO(setting.layout.to_string());
    check_same(train(without), train(setting));
  }
}

TEST_CASE("eight stages, and ranks with different numbers of micro-batches, or none") {
  for (const Kind& kind : kinds) {
    for (const int micro_batches : {1, 3, 11}) {
      Setting setting{.micro_batches = micro_batches, .layers = 14};
      const int pp = kind.virtual_stages == 1 ? 8 : 4;
      setting.layout =
          laid_out({.pp = pp, .dp = 2, .schedule = kind.schedule, .virtual_stages = kind.virtual_stages},
                   num_units(setting));
      INFO(setting.layout.to_string() << ", " << micro_batches << " micro-batches");
      check_same(train(alone(setting)), train(setting));
    }
  }
}

TEST_CASE("where micro-batches are summed one by one, pipelines have the bits of ranks without stages") {
  for (const int zero : {2, 3}) {
    for (const Kind& kind : kinds) {
      Setting setting{.micro_batches = 5};
      Setting without = setting;
      without.layout = {.dp = 2, .zero = zero};
      setting.layout = laid_out(
          {.pp = 3, .dp = 2, .zero = zero, .schedule = kind.schedule, .virtual_stages = kind.virtual_stages},
          num_units(setting));
      INFO(setting.layout.to_string());
      check_same(train(without), train(setting));
    }
  }
}

TEST_CASE("in 16 bits, too, stages change no bit, and both ends of a tied table stay the same") {
  for (const Kind& kind : kinds) {
    Setting setting{.precision = {.compute = DType::bf16}};
    setting.layout = laid_out(
        {.pp = 2, .dp = 2, .zero = 1, .schedule = kind.schedule, .virtual_stages = kind.virtual_stages},
        num_units(setting));
    INFO(setting.layout.to_string());
    const Result result = train(setting);
    check_same(train(alone(setting)), result);
    const bool meet_on_a_rank =
        kind.schedule == PipelineScheduleKind::zero_bubble && kind.virtual_stages == 2;
    CHECK(result.other_ends.size() == (meet_on_a_rank ? 0 : 2));
    check_ends(result, DType::bf16);
  }
}

TEST_CASE("a stage takes the memory that the walk of its list finds") {
  for (const bool recompute : {false, true}) {
    for (const Kind& kind : kinds) {
      Setting setting{.micro_batches = 8, .recompute = recompute};
      setting.layout = laid_out({.pp = 2, .schedule = kind.schedule, .virtual_stages = kind.virtual_stages},
                                num_units(setting));
      train(setting, [&](Rank& rank) { check_held(setting, rank); });
    }
  }
}

TEST_CASE("a stage's storage holds what its estimate says") {
  const auto [tied, vocabulary, reduce, zero_group] = GENERATE(table<bool, int, DType, int>(
      {{true, 1001, DType::f32, 0}, {false, 1001, DType::bf16, 2}, {true, 7, DType::bf16, 2}}));
  Setting setting{
      .layers = 10, .tied = tied, .precision = {.reduce = reduce}, .spec = grouped_spec(10, tied)};
  setting.spec->vocabulary = vocabulary;  // a table much smaller or much larger than a block
  for (const Kind& kind : kinds) {
    for (const int zero : {0, 1, 2, 3}) {
      // The second number leaves one unit for every other virtual stage.
      for (const int extra : {0, num_units(setting) - 2 * kind.virtual_stages}) {
        setting.layout = laid_out({.pp = 2,
                                   .dp = 4,
                                   .zero = zero,
                                   .zero_group = zero == 0 ? 0 : zero_group,
                                   .schedule = kind.schedule,
                                   .virtual_stages = kind.virtual_stages},
                                  num_units(setting), extra);
        setting.micro_batches = extra == 0 ? 4 : 12;
        train(setting, [&](Rank& rank) { check_stored(setting, rank); });
      }
    }
  }
}
