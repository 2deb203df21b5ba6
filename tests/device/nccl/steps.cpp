#include "device/nccl/steps.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.hpp"

namespace dt::test_device {

std::atomic<long> operations_to_fault = 0;
std::atomic<NcclFault> fault_to_come = NcclFault::error;
std::atomic<long> num_registrations = 0;
std::atomic<long> num_communicators = 0;
std::atomic<int> most_ctas = 0;
std::atomic<long> num_connections = 0;

void Group::check_registered(const void* memory, std::size_t count) const {
  if (registered.empty()) return;
  const std::span<std::byte> whole =
      accelerator().allocations().around(static_cast<const std::byte*>(memory));
  const auto place = registered.find(whole.data());
  DT_CHECK(place != registered.end() && place->second == whole.size(),
           "{} bytes are exchanged that are not registered, and others were", count);
}

bool Group::is_ready() {
  if (splits && !splits()) return false;
  splits = nullptr;
  return boxes->all_have_arrived();
}

bool Message::sends(Box& box) {
  if (done < sizeof bytes)
    done += box.write(reinterpret_cast<const std::byte*>(&bytes) + done, sizeof bytes - done);
  if (done >= sizeof bytes && done < length())
    done += box.write(memory + (done - sizeof bytes), length() - done);
  if (done == length() && end == 0) end = box.written();
  return done == length() && box.has_read(end);
}

bool Message::receives(Box& box) {
  if (done < sizeof bytes) {
    done += box.read(reinterpret_cast<std::byte*>(&header) + done, sizeof bytes - done);
    DT_CHECK(done < sizeof bytes || header == bytes, "a message of {} bytes meets one of {}", header, bytes);
  }
  if (done >= sizeof bytes && done < length())
    done += box.read(memory + (done - sizeof bytes), length() - done);
  return done == length();
}

bool Step::is_over() {
  if (!std::exchange(has_begun, true)) group->held->begin(group->ctas);
  if (!has_ended && moves()) {  // the device polls finished steps, too
    has_ended = true;
    group->held->end(group->ctas);
  }
  return has_ended;
}

bool Step::moves() {
  if (group->is_aborted) return true;
  if (is_broken) return false;
  for (auto& [peer, messages] : sends) {
    while (!messages.empty() && messages.front().sends(group->boxes->box(group->rank, peer)))
      messages.pop_front();
  }
  for (auto& [peer, messages] : receives) {
    while (!messages.empty() && messages.front().receives(group->boxes->box(peer, group->rank)))
      messages.pop_front();
  }
  const auto all_done = [](const auto& of_peers) {
    return std::ranges::all_of(of_peers, [](const auto& entry) { return entry.second.empty(); });
  };
  if (!all_done(sends) || !all_done(receives)) return false;
  if (then) then();
  return true;
}

void CtaBudget::begin(int ctas) {
  const int now = ctas_ += ctas;
  for (int most = most_ctas; now > most && !most_ctas.compare_exchange_weak(most, now);) continue;
}

void enqueue_step(Step&& step) {
  if (--operations_to_fault == 0) {
    step.is_broken = true;
    if (fault_to_come == NcclFault::error) step.group->state = ncclSystemError;
  }
  const Stream stream = step.stream;
  enqueue(stream, [step = std::make_shared<Step>(std::move(step))] { return step->is_over(); });
}

}  // namespace dt::test_device
