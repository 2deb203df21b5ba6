#include "train/start/idle_ranks.hpp"

#include "base/text/text.hpp"
#include "comm/exchange.hpp"
#include "plan/choose_layout.hpp"
#include "plan/launch.hpp"

namespace dt::train {

namespace {

std::string describe_ranks_per_model(const plan::Settings& s) {
  return fmt::format("each {} needs {} ranks", s.tp * s.cp == 1 ? "pipeline" : "model replica",
                     s.ranks_per_model());
}

}  // namespace

int run_on_used_ranks(const plan::Settings& settings, const comm::Ranks& ranks,
                      const std::function<int(const comm::Ranks&)>& body) {
  const int num_ranks = ranks.world.size(), used = plan::num_ranks_used(settings, num_ranks);
  if (used == num_ranks) return body(ranks);
  ranks.console.warn("{} of {} ranks {} idle: {}", num_ranks - used, num_ranks,
                     plural_form(num_ranks - used, "is", "are"), describe_ranks_per_model(settings));
  int code = 0;
  comm::on_subset(ranks, used, "used", [&](const comm::Ranks& first) { code = body(first); });
  return static_cast<int>(comm::broadcast_number(ranks.world, code));
}

plan::Launch find_used_launch(const plan::Settings& settings, const comm::Ranks& ranks) {
  const int num_ranks = settings.ranks ? static_cast<int>(*settings.ranks) : ranks.world.size();
  int used = num_ranks;
  comm::run_collectively(ranks.world, [&] { used = plan::num_ranks_used(settings, num_ranks); });
  if (used < num_ranks)
    ranks.console.info("{} of {} ranks would be idle: {}", num_ranks - used, num_ranks,
                       describe_ranks_per_model(settings));
  return settings.ranks ? plan::simulated_launch(settings, used) : plan::find_launch(settings, ranks, used);
}

}  // namespace dt::train
