#pragma once
// A transport between threads that counts its messages.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "comm/core/transport.hpp"

namespace dt::comm::test {

/// The messages of a group and of the groups that are split from it.
struct CountingHub {
  struct Posted {
    int from, to, tag;
    std::span<std::byte> bytes;
    Pending* pending;
    bool is_send;
  };
  explicit CountingHub(int ranks) : size(ranks) {}

  const int size;
  std::atomic<std::int64_t> num_messages = 0;
  std::mutex mutex;
  std::list<Posted> posted;
  std::map<int, std::shared_ptr<CountingHub>> parts;  // by color

  void post(const Posted& one) {
    const std::lock_guard lock(mutex);
    num_messages += one.is_send ? 1 : 0;
    const auto other = std::ranges::find_if(posted, [&](const Posted& p) {
      return p.is_send != one.is_send && p.from == one.from && p.to == one.to && p.tag == one.tag;
    });
    ++*one.pending;
    if (other == posted.end()) {
      posted.push_back(one);
      return;
    }
    const Posted& send = one.is_send ? one : *other;
    const Posted& receive = one.is_send ? *other : one;
    if (!send.bytes.empty()) std::memcpy(receive.bytes.data(), send.bytes.data(), send.bytes.size());
    --*one.pending;
    --*other->pending;
    posted.erase(other);
  }
};

class CountingTransport : public Transport {
 public:
  CountingTransport(std::shared_ptr<CountingHub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return hub_->size; }
  void send(int to, int tag, std::span<const std::byte> bytes, Pending& pending) override {
    hub_->post({rank_, to, tag, {const_cast<std::byte*>(bytes.data()), bytes.size()}, &pending, true});
  }
  void receive(int from, int tag, std::span<std::byte> bytes, Pending& pending) override {
    hub_->post({from, rank_, tag, bytes, &pending, false});
  }
  void progress() override {}
  bool withdraw(Pending& pending) noexcept override {
    const std::lock_guard lock(hub_->mutex);
    hub_->posted.remove_if([&](const CountingHub::Posted& p) { return p.pending == &pending; });
    pending = 0;
    return true;
  }
  void idle(double) override { std::this_thread::sleep_for(std::chrono::microseconds(50)); }
  std::unique_ptr<Transport> split(std::optional<int> color, int, std::span<const int> members) override {
    if (!color) return {};
    const std::lock_guard lock(hub_->mutex);
    std::shared_ptr<CountingHub>& part = hub_->parts[*color];
    if (!part) part = std::make_shared<CountingHub>(static_cast<int>(members.size()));
    const auto place = std::ranges::find(members, rank_) - members.begin();
    return std::make_unique<CountingTransport>(part, static_cast<int>(place));
  }

 private:
  std::shared_ptr<CountingHub> hub_;
  int rank_;
};

}  // namespace dt::comm::test
