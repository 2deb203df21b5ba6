#include "comm/device_collectives/device_watch.hpp"

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "comm/device_collectives/device_transport.hpp"

namespace dt::comm {

namespace {
using Lock = std::lock_guard<std::recursive_mutex>;
}  // namespace

void StreamWatch::join(DeviceTransport& transport) {
  const Lock lock(mutex_);
  in_flight_[&transport];
}

void StreamWatch::leave(DeviceTransport& transport) noexcept {
  const Lock lock(mutex_);
  const auto place = in_flight_.find(&transport);
  if (place == in_flight_.end()) return;
  for (const auto& operation : place->second) done(*operation);
  in_flight_.erase(place);
}

bool StreamWatch::has(DeviceTransport& transport) {
  const Lock lock(mutex_);
  const auto place = in_flight_.find(&transport);
  return place != in_flight_.end() && !place->second.empty();
}

void StreamWatch::done(StreamOperation& operation, const std::optional<Interval>& times) {
  for (const Recorder::Ticket ticket : operation.tickets) recorder_->finish(ticket, times);
  operation.is_done = true;
  --num_operations_;
}

void StreamWatch::add(DeviceTransport& transport, std::shared_ptr<StreamOperation> operation) {
  const Lock lock(mutex_);
  in_flight_.at(&transport).push_back(std::move(operation));
  ++num_operations_;
}

void StreamWatch::poll() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  for (auto& [transport, queue] : in_flight_) poll(*transport, queue);
}

void StreamWatch::poll(DeviceTransport& transport, Queue& queue) {
  while (!queue.empty() && queue.front()->end->is_complete()) {
    const StreamTimer* const span = queue.front()->span.get();
    done(*queue.front(), span ? std::optional(span->interval()) : std::nullopt);
    queue.pop_front();
  }
  if (queue.empty()) return;
  transport.check();
  const double now_s = monotonic_s();
  const StreamOperation& oldest = *queue.front();
  if (oldest.deadline_s > 0 && now_s > oldest.deadline_s) throw_late(oldest, now_s);
}

void StreamWatch::throw_late(const StreamOperation& operation, double now_s) const {
  throw Error(ErrorKind::environment,
              fmt::format("{}, step {}, did not complete within {:.1f} s", operation.text,
                          recorder_->snapshot().step, now_s - operation.started_s),
              "a rank has not entered it or has died, or a GPU or the network is stalled");
}

void StreamWatch::abort() noexcept {
  const Lock lock(mutex_);
  std::vector<DeviceTransport*> transports;
  for (auto& [transport, queue] : in_flight_) {
    transports.push_back(transport);
    num_operations_ -= static_cast<int>(queue.size());
    queue.clear();
  }
  if (!transports.empty()) device_transport_library()->abort(transports);
}

}  // namespace dt::comm
