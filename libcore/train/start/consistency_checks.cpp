#include "train/start/consistency_checks.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include "base/cli/build_info.hpp"
#include "base/error.hpp"
#include "base/io/paths.hpp"
#include "base/numeric/digest.hpp"
#include "base/system/host.hpp"
#include "comm/exchange.hpp"
#include "comm/topology/environment.hpp"
#include "model/hf/hf_config.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::train {

namespace {

/// The time in which a network file system may show a node an old view of a folder.
constexpr double visibility_timeout_s = 15;

/// A fact about a rank. It must be equal on all ranks; otherwise the kind of error is `kind`.
struct ComparedValue {
  ErrorKind kind;
  std::string name;
  std::string value;
};

std::vector<ComparedValue> compared_values(const std::vector<OptionValue>& asked,
                                           const data::Mixture& dataset) {
  // The program comes first, since the same program has the same options.
  std::vector<ComparedValue> list{
      {ErrorKind::input, "the program", build_description() + ", digest " + to_hex(executable_digest())}};
  for (const OptionValue& option : asked)
    list.push_back({ErrorKind::usage, "--" + option.name, option.value});
  list.push_back({ErrorKind::input, "the digest of --data", to_hex(dataset.content_digest())});
  return list;
}

std::string joined(const std::vector<ComparedValue>& facts) {
  std::string text;
  for (const ComparedValue& fact : facts) text += fact.name + "\n" + fact.value + "\n";
  return text;
}

bool all_equal(const std::vector<std::string>& texts) {
  return std::adjacent_find(texts.begin(), texts.end(), std::not_equal_to<>()) == texts.end();
}

/// Reports the first fact in which ranks differ, with the hosts of both. Compares digests first,
/// since they nearly always agree.
void require_equal(const comm::Ranks& ranks, const std::vector<ComparedValue>& own) {
  if (all_equal(comm::gather_texts(ranks.world, to_hex(digest(joined(own)))))) return;
  const std::vector<std::string> hosts = comm::gather_texts(ranks.world, host_name());
  for (const ComparedValue& fact : own) {
    const std::vector<std::string> values = comm::gather_texts(ranks.world, fact.value);
    const auto other = std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>());
    if (other == values.end()) continue;
    const auto rank = static_cast<std::size_t>(other - values.begin()) + 1;
    const auto shown = [](const std::string& value) { return value.empty() ? "unset" : "'" + value + "'"; };
    throw comm::SharedError(
        fact.kind,
        fmt::format("ranks disagree about {}: {} on {} (rank 0), {} on {} (rank {})", fact.name,
                    shown(values[0]), hosts[0], shown(values[rank]), hosts[rank], rank),
        "start all ranks with the same command, program and files");
  }
}

/// Returns the digest of a file's content.
std::string file_digest(const fs::path& path) {
  return to_hex(digest(read_file(path)));
}

/// Returns what the replicas of the groups of one reduction must have in common.
std::vector<ComparedValue> replicated_state(const model::ModelSpec& spec, const Context& context,
                                            const parallel::ModelStorage& storage,
                                            model::ReductionAxis reduction) {
  Digester weights, states;
  const auto add = [&](Digester& digester, const Tensor& state) {
    for_each_host_chunk(context, state, [&](std::span<const std::byte> bytes) { digester.update(bytes); });
  };
  for (int group = 0; group < storage.num_groups(); ++group) {
    if (storage.local().group(group).reduction != reduction) continue;
    add(weights, storage.group_weights(group));
    if (storage.precision().has_masters() && storage.group_masters(group))
      add(weights, storage.group_masters(group));
    for (const Tensor& state : storage.group_states(group)) {
      if (state) add(states, state);
    }
  }
  return {{ErrorKind::input, "the model", model::hf_config(spec)},
          {ErrorKind::input, "the digest of the weights", to_hex(weights.value())},
          {ErrorKind::input, "the digest of the optimizer state", to_hex(states.value())}};
}

}  // namespace

void check_same_settings(const comm::Ranks& ranks, const std::vector<OptionValue>& asked,
                         const data::Mixture& dataset) {
  require_equal(ranks, compared_values(asked, dataset));
  const std::vector<std::string> sets = comm::gather_texts(ranks.world, instruction_set());
  if (!all_equal(sets)) {
    ranks.console.warn(
        "ranks have different instruction sets ({} on rank 0): results will not be bit-identical to those "
        "of uniform nodes",
        sets[0]);
  }
  comm::warn_differing_settings(ranks);
}

void check_same_state(const comm::Ranks& ranks, const model::ModelSpec& spec, const Context& context,
                      const parallel::ModelStorage& storage) {
  if (ranks.world.size() == 1) return;
  const parallel::Groups& groups = storage.ranks();
  const auto compare = [&](const comm::Ranks& replicas, model::ReductionAxis reduction) {
    require_equal(replicas, replicated_state(spec, context, storage, reduction));
  };
  const bool has_experts = storage.local().table().num_experts() > 0;
  if (!has_experts && groups.reduction(model::ReductionAxis::data).replicas == groups.control())
    return compare(ranks, model::ReductionAxis::data);
  // The replicas of each shard of divided state compare it. All ranks must then learn the result.
  std::exception_ptr failure;
  for (const model::ReductionAxis reduction : model::reduction_axes) {
    const bool is_used = has_experts || reduction == model::ReductionAxis::data;
    if (!is_used || !groups.reduction(reduction).has_replicas()) continue;
    try {
      compare({*groups.reduction(reduction).replicas, ranks.console, ranks.abort}, reduction);
    } catch (const comm::SharedError&) {
      failure = std::current_exception();
    }
  }
  comm::run_collectively(ranks.world, [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

void check_same_view(const comm::Ranks& ranks, const fs::path& path) {
  std::string expected;
  comm::on_root(ranks, [&] { expected = file_digest(path); });
  expected = comm::broadcast_text(ranks.world, expected);
  comm::run_collectively(ranks.world, [&] {
    const double end_s = monotonic_s() + visibility_timeout_s;
    wait_until_visible(path, visibility_timeout_s);
    while (file_digest(path) != expected) {
      if (monotonic_s() > end_s) {
        throw Error(
            ErrorKind::environment,
            fmt::format("{} differs from what rank 0 reads there", fs::absolute(path).string()),
            "--run must be on a file system that all nodes share; if it is, this node's view of it is stale");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
}

}  // namespace dt::train
