#pragma once
// The stream transport of a group of one rank.

#include <cstddef>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "comm/device_collectives/device_transport.hpp"

namespace dt::comm {

/// Copies the inputs of sums and gathers to their outputs. Takes no communicator and no memory of a
/// library.
class SingleRankTransport final : public DeviceTransport {
 public:
  explicit SingleRankTransport(Device device) : device_(device) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Device device() const override { return device_; }
  void exchange(Stream, std::span<const Transfer> transfers) override {
    DT_CHECK(transfers.empty(), "a rank alone exchanges with rank {}", transfers.front().peer);
  }
  void broadcast(Stream, const Tensor&, int) override {}
  void all_gather(Stream stream, const Tensor& in, const Tensor& out) override { copy(stream, in, out); }
  void all_reduce(Stream stream, const Tensor& in, const Tensor& out, Reduction) override {
    copy(stream, in, out);
  }
  void reduce_scatter(Stream stream, const Tensor& in, const Tensor& out, Reduction) override {
    copy(stream, in, out);
  }
  void check() override {}
  void abort() noexcept override {}
  std::unique_ptr<DeviceTransport> split(std::optional<int> color, int, DeviceGroupUse) override {
    return color ? std::make_unique<SingleRankTransport>(device_) : nullptr;
  }

 private:
  static void copy(Stream stream, const Tensor& from, const Tensor& to) {
    if (from.bytes() > 0 && from.raw() != to.raw())
      accelerator().copy(stream, to.raw(), from.raw(), from.bytes());
  }

  Device device_;
};

}  // namespace dt::comm
