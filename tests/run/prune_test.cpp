#include "run/prune.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace dt::run {
namespace {

std::string decided(const std::vector<std::int64_t>& steps, const PruneRule& rule,
                    const std::vector<std::int64_t>& damaged = {},
                    std::vector<std::int64_t>* asked = nullptr) {
  std::vector<checkpoint::CheckpointEntry> lineage;
  for (const std::int64_t step : steps) lineage.push_back({fmt::format("step-{:08}.g1", step), step, 1});
  std::string text;
  const auto why = [&](const checkpoint::CheckpointEntry& entry) {
    if (asked != nullptr) asked->push_back(entry.step);
    return std::count(damaged.begin(), damaged.end(), entry.step) > 0 ? std::string("bad") : std::string();
  };
  for (const PruneDecision& d : decide_prune(lineage, rule, why))
    text += fmt::format("{}{} ", d.keep ? "" : "-", d.entry.step);
  return text;
}

TEST_CASE("the newest sound checkpoints are kept, and multiples of keep_every") {
  CHECK(decided({50, 40, 30, 20, 10}, {2, 0}) == "50 40 -30 -20 -10 ");
  CHECK(decided({50, 40, 30, 20, 10}, {1, 20}) == "50 40 -30 20 -10 ");
  CHECK(decided({50, 40}, {5, 0}) == "50 40 ");
  CHECK(decided({}, {1, 0}).empty());
}

TEST_CASE("a damaged one counts for nothing, and is kept where it is newer than the sound ones that count") {
  CHECK(decided({50, 40, 30, 20, 10}, {2, 0}, {50, 30}) == "50 40 30 20 -10 ");
  CHECK(decided({50, 40, 30}, {2, 0}, {50, 40, 30}) == "50 40 30 ");
  std::vector<std::int64_t> asked;
  CHECK(decided({50, 40, 30, 20}, {2, 20}, {40, 20}, &asked) == "50 40 30 20 ");
  CHECK(asked == std::vector<std::int64_t>{50, 40, 30});
}

}  // namespace
}  // namespace dt::run
