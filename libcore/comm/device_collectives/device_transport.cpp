#include "comm/device_collectives/device_transport.hpp"

#include "base/error.hpp"

namespace dt::comm {

namespace {

DeviceTransportLibrary* the_library = nullptr;

void copy(Stream stream, const Tensor& from, const Tensor& to) {
  if (from.bytes() > 0 && from.raw() != to.raw())
    accelerator().copy(stream, to.raw(), from.raw(), from.bytes());
}

}  // namespace

void SingleRankTransport::exchange(Stream, std::span<const Transfer> transfers) {
  DT_CHECK(transfers.empty(), "a rank alone exchanges with rank {}", transfers.front().peer);
}

void SingleRankTransport::all_gather(Stream stream, const Tensor& in, const Tensor& out) {
  copy(stream, in, out);
}

void SingleRankTransport::all_reduce(Stream stream, const Tensor& in, const Tensor& out, Reduction) {
  copy(stream, in, out);
}

void SingleRankTransport::reduce(Stream stream, const Tensor& in, const Tensor& out, Reduction, int) {
  copy(stream, in, out);
}

void SingleRankTransport::reduce_scatter(Stream stream, const Tensor& in, const Tensor& out, Reduction) {
  copy(stream, in, out);
}

std::unique_ptr<DeviceTransport> SingleRankTransport::split(std::optional<int> color, int, DeviceGroupUse) {
  return color ? std::make_unique<SingleRankTransport>(device_) : nullptr;
}

DeviceTransportLibrary* device_transport_library() {
  return the_library;
}

void set_device_transport_library(DeviceTransportLibrary* library) {
  the_library = library;
}

}  // namespace dt::comm
