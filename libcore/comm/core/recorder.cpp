#include "comm/core/recorder.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/error.hpp"
#include "base/system/host.hpp"

namespace dt::comm {

namespace {

std::int64_t next_sequence(GroupRecord& group, OperationKind kind, int peer) {
  if (!is_point_to_point(kind)) return ++group.started;
  auto record = std::find_if(group.peers.begin(), group.peers.end(),
                             [peer](const PeerRecord& candidate) { return candidate.peer == peer; });
  if (record == group.peers.end()) record = group.peers.insert(record, PeerRecord{.peer = peer});
  return ++(kind == OperationKind::send ? record->sends : record->receives);
}

}  // namespace

Recorder::Recorder() : ring_(capacity) {}

int Recorder::add_group(std::string name, std::vector<int> members) {
  const std::lock_guard lock(mutex_);
  groups_.push_back(GroupRecord{.name = std::move(name), .members = std::move(members)});
  return static_cast<int>(groups_.size()) - 1;
}

Recorder::Ticket Recorder::start(int group, OperationKind kind, std::int64_t bytes, int peer) {
  const std::lock_guard lock(mutex_);
  DT_CHECK(group >= 0 && group < static_cast<int>(groups_.size()), "the recorder has no group {}", group);
  const OperationRecord record{
      .sequence = next_sequence(groups_[static_cast<std::size_t>(group)], kind, peer),
      .group = group,
      .kind = kind,
      .bytes = bytes,
      .peer = peer,
      .step = step_,
      .started_s = monotonic_s(),
      .ticket = newest_ + 1};
  in_flight_.push_back(record);
  bytes_by_kind_[static_cast<std::size_t>(kind)] += bytes;
  ++newest_;
  ring_[static_cast<std::size_t>(newest_) % capacity] = record;
  return newest_;
}

void Recorder::finish(Ticket ticket, const std::optional<Interval>& on_stream) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(in_flight_.begin(), in_flight_.end(),
                   [ticket](const OperationRecord& record) { return record.ticket == ticket; });
  if (found == in_flight_.end()) return;
  if (!is_point_to_point(found->kind)) ++groups_[static_cast<std::size_t>(found->group)].finished;
  found->finished_s = monotonic_s();
  const bool in_ring = newest_ - ticket < static_cast<Ticket>(capacity);
  if (in_ring) ring_[static_cast<std::size_t>(ticket) % capacity] = *found;
  if (detailed_ && ticket > detailed_->last_before) {
    detailed_->records.push_back(*found);
    if (on_stream) {
      detailed_->records.back().started_s = on_stream->start_s;
      detailed_->records.back().finished_s = on_stream->end_s;
    }
  }
  in_flight_.erase(found);
}

void Recorder::start_details(std::shared_ptr<const DeviceClock> clock) {
  const std::lock_guard lock(mutex_);
  detailed_ = DetailedRecords{.last_before = newest_, .clock = std::move(clock), .records = {}};
}

std::shared_ptr<const DeviceClock> Recorder::device_clock() const {
  const std::lock_guard lock(mutex_);
  return detailed_ ? detailed_->clock : nullptr;
}

std::vector<OperationRecord> Recorder::take_details() {
  const std::lock_guard lock(mutex_);
  std::vector<OperationRecord> records;
  if (detailed_) records = std::move(detailed_->records);
  detailed_.reset();
  return records;
}

void Recorder::set_step(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  step_ = step;
}

void Recorder::set_role(std::string duty) {
  const std::lock_guard lock(mutex_);
  role_ = std::move(duty);
}

std::string Recorder::role() const {
  const std::lock_guard lock(mutex_);
  return role_;
}

Recorder::Snapshot Recorder::snapshot() const {
  Snapshot result;
  result.newest.reserve(capacity);
  const std::lock_guard lock(mutex_);
  result.time_s = monotonic_s();
  result.step = step_;
  result.role = role_;
  result.operations = newest_;
  result.groups = groups_;
  result.in_flight = in_flight_;
  const Ticket oldest = std::max<Ticket>(1, newest_ - static_cast<Ticket>(capacity) + 1);
  for (Ticket ticket = oldest; ticket <= newest_; ++ticket) {
    result.newest.push_back(ring_[static_cast<std::size_t>(ticket) % capacity]);
  }
  return result;
}

double Recorder::oldest_start_s() const {
  const std::lock_guard lock(mutex_);
  return in_flight_.empty() ? 0 : in_flight_.front().started_s;
}

std::int64_t Recorder::bytes(OperationKind kind) const {
  const std::lock_guard lock(mutex_);
  return bytes_by_kind_.at(static_cast<std::size_t>(kind));
}

std::string to_string(const OperationName& name) {
  std::string text(name_of(name.kind));
  if (name.sequence > 0) text += fmt::format(" {}", name.sequence);
  if (name.kind == OperationKind::send) text += fmt::format(" to rank {}", name.peer);
  if (name.kind == OperationKind::receive) text += fmt::format(" from rank {}", name.peer);
  return fmt::format("{} of {} bytes in group {}", text, name.bytes, name.group);
}

}  // namespace dt::comm
