#pragma once
// A network between ranks on the test device that counts the bytes from each rank to each. A group of
// transfers is done when all of them have arrived, as with NCCL. Ranks are threads, or take turns on one
// thread.

#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "comm/device_collectives/device_transport.hpp"
#include "device/test_device.hpp"

namespace dt::test_device {

class CountedNetwork {
 public:
  explicit CountedNetwork(int size)
      : size_(size), boxes_(static_cast<std::size_t>(size * size)), sent_(boxes_.size()) {}
  CountedNetwork(const CountedNetwork&) = delete;

  std::unique_ptr<comm::DeviceTransport> transport(int rank, Device device) {
    return std::make_unique<Transport>(*this, rank, device);
  }
  /// Returns the bytes that streams have sent so far.
  std::int64_t sent(int from, int to) const { return sent_[index(from, to)]; }
  /// Returns the bytes that a rank has sent to ranks of other hosts.
  std::int64_t sent_between(int from, const std::vector<int>& hosts) const {
    std::int64_t bytes = 0;
    for (int to = 0; to < size_; ++to) {
      if (hosts[static_cast<std::size_t>(to)] != hosts[static_cast<std::size_t>(from)])
        bytes += sent(from, to);
    }
    return bytes;
  }
  /// Returns the bytes that all ranks have sent to ranks of other hosts.
  std::int64_t sent_between(const std::vector<int>& hosts) const {
    std::int64_t bytes = 0;
    for (int from = 0; from < size_; ++from) bytes += sent_between(from, hosts);
    return bytes;
  }

 private:
  using Transfer = comm::DeviceTransport::Transfer;
  struct Message {
    Tensor data;
    bool has_arrived = false;
  };

  /// One rank's group of transfers. Only the device calls it.
  struct Exchange {
    CountedNetwork& network;
    int rank;
    std::vector<Transfer> receives{};  // unfinished, those of a peer in order
    std::vector<std::shared_ptr<Message>> sends{};
    std::vector<Transfer> to_send{};

    bool is_over() {
      for (const Transfer& transfer : std::exchange(to_send, {})) {
        sends.push_back(std::make_shared<Message>(Message{transfer.data}));
        network.boxes_[network.index(rank, transfer.peer)].push_back(sends.back());
        network.sent_[network.index(rank, transfer.peer)] += static_cast<std::int64_t>(transfer.data.bytes());
      }
      std::vector<bool> waits(static_cast<std::size_t>(network.size_));
      std::erase_if(receives, [&](const Transfer& transfer) {
        auto& box = network.boxes_[network.index(transfer.peer, rank)];
        if (waits[static_cast<std::size_t>(transfer.peer)] || box.empty()) {
          waits[static_cast<std::size_t>(transfer.peer)] = true;
          return false;
        }
        const Tensor& from = box.front()->data;
        DT_CHECK(from.bytes() == transfer.data.bytes(), "a message of {} bytes meets one of {}", from.bytes(),
                 transfer.data.bytes());
        std::memcpy(transfer.data.raw(), from.raw(), from.bytes());
        box.front()->has_arrived = true;
        box.pop_front();
        return true;
      });
      std::erase_if(sends, [](const auto& message) { return message->has_arrived; });
      return receives.empty() && sends.empty();
    }
  };

  /// Sends and receives only: NCCL's own collectives are not dt's.
  class Transport final : public comm::DeviceTransport {
   public:
    Transport(CountedNetwork& network, int rank, Device device)
        : network_(network), rank_(rank), device_(device) {}
    int rank() const override { return rank_; }
    int size() const override { return network_.size_; }
    Device device() const override { return device_; }
    void exchange(Stream stream, std::span<const Transfer> transfers) override {
      const auto exchange = std::make_shared<Exchange>(Exchange{network_, rank_});
      for (const Transfer& transfer : transfers)
        (transfer.is_send ? exchange->to_send : exchange->receives).push_back(transfer);
      enqueue(stream, [exchange] { return exchange->is_over(); });
    }
    void broadcast(Stream, const Tensor&, int) override { refuse(); }
    void all_gather(Stream, const Tensor&, const Tensor&) override { refuse(); }
    void all_reduce(Stream, const Tensor&, const Tensor&, Reduction) override { refuse(); }
    void reduce(Stream, const Tensor&, const Tensor&, Reduction, int) override { refuse(); }
    void reduce_scatter(Stream, const Tensor&, const Tensor&, Reduction) override { refuse(); }
    void check() override {}
    void abort() noexcept override {}
    std::unique_ptr<DeviceTransport> split(std::optional<int>, int, comm::DeviceGroupUse) override {
      refuse();
      return nullptr;
    }

   private:
    static void refuse() { DT_CHECK(false, "a counted network only sends and receives"); }
    CountedNetwork& network_;
    int rank_;
    Device device_;
  };

  std::size_t index(int from, int to) const { return static_cast<std::size_t>(from * size_ + to); }

  int size_;
  std::vector<std::deque<std::shared_ptr<Message>>> boxes_;
  std::vector<std::int64_t> sent_;
};

}  // namespace dt::test_device
