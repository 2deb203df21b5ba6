#include "prove/show_schedule.hpp"

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/text.hpp"
#include "comm/exchange.hpp"
#include "parallel/traffic.hpp"
#include "parallel/validator.hpp"
#include "train/start.hpp"

namespace dt::prove {

namespace {

using Json = nlohmann::ordered_json;

/// What each rank does, which depends on how many micro-batches it has.
std::vector<parallel::ActionList> lists_of_all(train::Plan plan, int num_units) {
  std::vector<parallel::ActionList> lists;
  for (plan.place.dp = 0; plan.place.dp < plan.layout.dp; ++plan.place.dp) {
    const parallel::StepShape shape = step_shape(plan, num_units);
    lists.push_back(parallel::build_training_step(shape));
    parallel::validate_training_step(lists.back(), shape);
  }
  return lists;
}

void print(const parallel::ActionList& list, const std::vector<std::int64_t>& bytes,
           const model::ParameterTable& table, Console& console) {
  const auto unit_name = [&](int unit) {
    return unit < 0 ? std::string() : table.units()[static_cast<std::size_t>(unit)].name;
  };
  if (!console.json())
    console.print("{:<16} {:<12} {:>11} {:>10}\n", "action", "unit", "micro-batch", "moves");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const parallel::Action& action = list[i];
    if (console.json()) {
      Json line{{"action", parallel::action_name(action.kind)}};
      if (action.unit >= 0) line["unit"] = unit_name(action.unit);
      if (action.micro_batch >= 0) line["micro_batch"] = action.micro_batch;
      line["bytes"] = bytes[i];
      console.print("{}\n", line.dump());
    } else {
      const std::string text = fmt::format(
          "{:<16} {:<12} {:>11} {:>10}", parallel::action_name(action.kind), unit_name(action.unit),
          action.micro_batch >= 0 ? std::to_string(action.micro_batch) : "",
          bytes[i] > 0 ? format_bytes(static_cast<std::uint64_t>(bytes[i])) : "");
      console.print("{}\n", text.substr(0, text.find_last_not_of(' ') + 1));
    }
  }
}

void check_and_print(const train::Settings& settings, const train::Launch& launch, Console& console) {
  const data::TokenDataset dataset(settings.data);
  const model::ModelSpec spec = train::choose_spec(settings, {});
  const train::Plan plan = train::make_plan(settings, spec, dataset, launch, nullptr);
  const model::ParameterTable table(spec);
  const std::vector<parallel::ActionList> lists = lists_of_all(plan, static_cast<int>(table.units().size()));
  parallel::validate_together(lists);
  const parallel::LocalTable local(table, plan.layout, plan.place);
  const parallel::Traffic traffic{local, plan.precision};
  const std::vector<std::int64_t> bytes = traffic.bytes_of(lists.front());
  print(lists.front(), bytes, table, console);
  const std::int64_t total = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  console.info("rank 0 of {}: {} actions, {} a step", plan.layout.size(), lists.front().size(),
               format_bytes(static_cast<std::uint64_t>(total)));
}

}  // namespace

int show_schedule(const train::Settings& settings, const comm::Ranks& ranks) {
  const train::Launch launch = train::find_launch(ranks.world);
  comm::at_first(ranks, [&] { check_and_print(settings, launch, ranks.console); });
  return 0;
}

}  // namespace dt::prove
