#include "tensor/device/graph_cache.hpp"

#include <utility>

namespace dt {

namespace {

constexpr std::size_t most_seen = 65536;

void enqueue_all(const std::vector<GraphCache::Enqueue>& pieces) {
  for (const GraphCache::Enqueue& piece : pieces) piece();
}

}  // namespace

void GraphCache::defer(const WorkKey& key, Enqueue enqueue) {
  const std::lock_guard lock(mutex_);
  throw_if_failed();
  const std::size_t length = key.bytes().size();  // so that two pieces are never taken for one
  key_.append(reinterpret_cast<const char*>(&length), sizeof length).append(key.bytes());
  pieces_.push_back(std::move(enqueue));
}

void GraphCache::flush_and_run(const Enqueue& deed) {
  const std::lock_guard lock(mutex_);
  throw_if_failed();
  if (!pieces_.empty()) flush();
  deed();
}

void GraphCache::instantiate_graphs() {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, pieces] : std::exchange(to_instantiate_, {})) {
    if (has_room()) graphs_[key] = {capture_([&] { enqueue_all(pieces); }), num_sequences_};
  }
}

void GraphCache::flush() {
  const std::string key = std::exchange(key_, {});
  Pieces pieces = std::exchange(pieces_, {});
  try {
    launch_or_enqueue(key, std::move(pieces));
  } catch (...) {
    failed_ = std::current_exception();
    throw;
  }
}

void GraphCache::launch_or_enqueue(const std::string& key, Pieces&& pieces) {
  ++num_sequences_;
  if (pieces.size() < limits_.min_graph_operations) return enqueue_all(pieces);
  const auto graph = graphs_.find(key);
  if (graph != graphs_.end()) {
    graph->second.last_use = num_sequences_;
    return graph->second.launch ? graph->second.launch() : enqueue_all(pieces);
  }
  enqueue_all(pieces);
  if (seen_before(key)) to_instantiate_.emplace(key, std::move(pieces));
}

bool GraphCache::seen_before(const std::string& key) {
  if (seen_.size() == most_seen) seen_.clear();
  return !seen_.insert(std::hash<std::string>{}(key)).second;
}

/// Returns whether there is room for a graph. At the limit, first drops graphs that the last few
/// steps' stretches did not use.
bool GraphCache::has_room() {
  if (graphs_.size() < limits_.max_graphs) return true;
  const std::size_t recent = 4 * limits_.max_graphs;
  std::erase_if(graphs_, [&](const auto& graph) { return graph.second.last_use + recent < num_sequences_; });
  return graphs_.size() < limits_.max_graphs;
}

void GraphCache::throw_if_failed() const {
  if (failed_) std::rethrow_exception(failed_);
}

}  // namespace dt
