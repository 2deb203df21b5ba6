#include "comm/active_transports.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::comm {

namespace {

// The limit on operations in flight. More of them would share tags.
constexpr int max_operations_of_group = 1024;

bool has_sequence_to_begin(const Operation& operation) {
  if (operation.next_sequence == operation.num_sequences || operation.running.size() >= operation.window) {
    return false;
  }
  return operation.running.empty() ||
         operation.next_sequence - operation.running.front().number < ActiveTransports::num_chain_tags;
}

}  // namespace

void ActiveTransports::add(Operation& operation) {
  ActiveTransport& active = active_of(operation);
  const auto lane = active.to_begin.find(operation.lane());
  const bool others_wait = lane != active.to_begin.end() && !lane->second.empty();
  if (operation.device || others_wait)
    active.to_begin[operation.lane()].push_back(&operation);
  else
    count_begun(operation, active);
  ++active.num_operations;
  ++num_operations_;
  if (operation.is_paced() && operation.num_sequences > 0) active.still_beginning.push_back(&operation);
}

void ActiveTransports::remove(Operation& operation) {
  ActiveTransport& active = active_of(operation);
  active.bytes_in_flight -= operation.is_paced() ? operation.running.size() * operation.sequence_bytes : 0;
  active.still_beginning.remove(&operation);
  if (const auto lane = active.to_begin.find(operation.lane()); lane != active.to_begin.end())
    lane->second.remove(&operation);
  active.num_begun -= operation.has_begun ? 1 : 0;
  if (--active.num_operations == 0) {
    std::erase_if(active_, [&](const ActiveTransport& a) { return a.transport == operation.transport; });
  }
  --num_operations_;
}

void ActiveTransports::progress() const {
  for (const ActiveTransport& active : active_) active.transport->progress();
}

/// Asks the operation's device even while earlier operations of its lane wait, so that its copies to
/// the host start meanwhile.
bool ActiveTransports::begin(Operation& operation) {
  if (operation.has_begun) return true;
  const bool is_ready = !operation.device || operation.device->may_begin();
  ActiveTransport& active = active_of(operation);
  std::list<Operation*>& lane = active.to_begin[operation.lane()];
  if (lane.front() != &operation || !is_ready) return false;
  lane.pop_front();
  count_begun(operation, active);
  return true;
}

void ActiveTransports::count_begun(Operation& operation, ActiveTransport& active) {
  DT_CHECK(active.num_begun < max_operations_of_group, "{} operations of group {} are under way",
           active.num_begun, operation.group);
  ++active.num_begun;
  operation.has_begun = true;
}

bool ActiveTransports::some_wait_for_a_device() const {
  return std::ranges::any_of(active_, [](const ActiveTransport& active) {
    return std::ranges::any_of(active.to_begin, [](const auto& lane) { return !lane.second.empty(); });
  });
}

bool ActiveTransports::may_begin_sequence(const Operation& operation) {
  if (!has_sequence_to_begin(operation)) return false;
  if (!operation.is_paced()) return true;
  const ActiveTransport& active = active_of(operation);
  if (active.still_beginning.front() != &operation) return false;
  return active.bytes_in_flight == 0 ||
         active.bytes_in_flight + operation.sequence_bytes <= operation.bucket_bytes;
}

std::size_t ActiveTransports::begin_sequence(Operation& operation) {
  const std::size_t number = operation.next_sequence++;
  if (!operation.is_paced()) return number;
  ActiveTransport& active = active_of(operation);
  active.bytes_in_flight += operation.sequence_bytes;
  if (operation.next_sequence == operation.num_sequences) active.still_beginning.remove(&operation);
  return number;
}

void ActiveTransports::end_sequence(const Operation& operation) {
  if (operation.is_paced()) active_of(operation).bytes_in_flight -= operation.sequence_bytes;
}

ActiveTransports::ActiveTransport& ActiveTransports::active_of(const Operation& operation) {
  const auto place = std::find_if(active_.begin(), active_.end(), [&](const ActiveTransport& active) {
    return active.transport == operation.transport;
  });
  return place != active_.end() ? *place
                                : active_.emplace_back(ActiveTransport{.transport = operation.transport});
}

}  // namespace dt::comm
