#include "run/local/local_checkpoint.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "base/io/json.hpp"

namespace dt::run {

namespace {

using Json = nlohmann::json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Parses a text that ranks of this job told each other.
JsonValue parse(const std::string& text) {
  return JsonValue::parse(text, {"a message about local checkpoints"});
}

/// Adds one shard of node `node` to the checkpoint.
void add(LocalCheckpoint& whole, const JsonValue& shard, int node) {
  if (whole.header_text.empty()) {
    whole.header_text = shard.string("header");
    whole.holders.resize(shard.unsigned_integer("num_writers"));
  }
  for (const std::uint64_t writer : shard.unsigned_integers("writers")) {
    if (writer >= whole.holders.size()) continue;
    std::vector<int>& holders = whole.holders[writer];
    if (holders.empty() || holders.back() != node) holders.push_back(node);
  }
}

}  // namespace

std::string LocalCheckpoint::why_incomplete() const {
  if (holders.empty()) return "no node of this job holds any of it";
  std::vector<std::size_t> missing;
  for (std::size_t writer = 0; writer < holders.size(); ++writer) {
    if (holders[writer].empty()) missing.push_back(writer);
  }
  if (missing.empty()) return {};
  constexpr std::size_t most = 8;
  const std::string more = missing.size() > most ? ", …" : "";
  missing.resize(std::min(missing.size(), most));
  return fmt::format("no node of this job holds the files of rank{} {}{} of {}",
                     missing.size() > 1 ? "s" : "", fmt::join(missing, ", "), more, holders.size());
}

std::string describe_shards(std::span<const LocalShard> shards) {
  Json list = Json::array();
  for (const LocalShard& shard : shards) {
    list.push_back({{"step", shard.header.state.step},
                    {"generation", shard.header.generation},
                    {"num_writers", num_writers(shard.header)},
                    {"header", shard.header_text},
                    {"writers", shard.writers}});
  }
  return dump(list);
}

std::vector<LocalCheckpoint> merge_shards(std::span<const std::string> by_node) {
  std::map<std::pair<std::int64_t, std::int64_t>, LocalCheckpoint> found;
  for (std::size_t node = 0; node < by_node.size(); ++node) {
    if (by_node[node].empty()) continue;
    for (const JsonValue& shard : parse(by_node[node]).items()) {
      const auto step = shard.integer("step"), generation = shard.integer("generation");
      LocalCheckpoint& whole = found[{generation, step}];
      whole.step = step;
      whole.generation = generation;
      add(whole, shard, static_cast<int>(node));
    }
  }
  std::vector<LocalCheckpoint> list;
  for (auto& [key, whole] : found) list.insert(list.begin(), std::move(whole));
  return list;
}

std::string to_text(const LocalCheckpoint& c) {
  return dump(
      {{"step", c.step}, {"generation", c.generation}, {"header", c.header_text}, {"holders", c.holders}});
}

LocalCheckpoint parse_local_checkpoint(const std::string& text) {
  const JsonValue json = parse(text);
  LocalCheckpoint c{json.integer("step"), json.integer("generation"), json.string("header"), {}};
  for (const JsonValue& of_writer : json.at("holders").items()) {
    std::vector<int>& holders = c.holders.emplace_back();
    for (const JsonValue& node : of_writer.items()) holders.push_back(static_cast<int>(node.integer()));
  }
  return c;
}

}  // namespace dt::run
