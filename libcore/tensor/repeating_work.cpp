#include "tensor/repeating_work.hpp"

#include <utility>

namespace dt {

namespace {
constexpr std::size_t most_seen = 65536;
}  // namespace

void RepeatingWork::keep(const WorkKey& key, Enqueue enqueue) {
  const std::lock_guard lock(mutex_);
  throw_if_failed();
  const std::size_t length = key.bytes().size();  // so that two pieces are never taken for one
  key_.append(reinterpret_cast<const char*>(&length), sizeof length).append(key.bytes());
  pieces_.push_back(std::move(enqueue));
}

void RepeatingWork::use(const Enqueue& deed) {
  const std::lock_guard lock(mutex_);
  throw_if_failed();
  if (!pieces_.empty()) give();
  deed();
}

void RepeatingWork::give() {
  const std::string key = std::exchange(key_, {});
  const std::vector<Enqueue> pieces = std::exchange(pieces_, {});
  try {
    give(key, pieces);
  } catch (...) {
    failed_ = std::current_exception();
    throw;
  }
}

void RepeatingWork::give(const std::string& key, const std::vector<Enqueue>& pieces) {
  const Enqueue all = [&] {
    for (const Enqueue& piece : pieces) piece();
  };
  if (pieces.size() < limits_.least_pieces) return all();
  auto graph = graphs_.find(key);
  if (graph == graphs_.end()) {
    if (!comes_again(key) || graphs_.size() == limits_.most_graphs) return all();
    graph = graphs_.emplace(key, capture_(all)).first;
  }
  (graph->second ? graph->second : all)();
}

bool RepeatingWork::comes_again(const std::string& key) {
  if (seen_.size() == most_seen) seen_.clear();
  return !seen_.insert(std::hash<std::string>{}(key)).second;
}

void RepeatingWork::throw_if_failed() const {
  if (failed_) std::rethrow_exception(failed_);
}

}  // namespace dt
