#pragma once
// Checks operations of ranks on their devices' memory against those on the hosts'.

#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

#include "comm/all_to_all.hpp"
#include "comm/backend.hpp"
#include "comm/samples.hpp"
#include "kernels/elementwise.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::comm::test {

/// A rank's device. All work that it is given stays in its streams until a wait.
class Computing {
 public:
  Computing(Communicator& group, Device device, const PinnedLimits& limits = {}) : context(1, device) {
    computes_on_.emplace(group.engine(), context, limits);
  }
  Tensor unwritten(DType dtype, std::int64_t numel) {
    return Tensor(
        buffers_.emplace_back(context.device(), static_cast<std::size_t>(numel) * dtype_bytes(dtype)), dtype,
        {numel});
  }
  /// Returns a tensor with a host tensor's values, once the stream has copied them.
  Tensor placed(const Tensor& values) {
    const Tensor there = unwritten(values.dtype(), values.numel());
    kernels::copy(context, values, there);
    return there;
  }
  /// Returns whether the context would read the expected values next. Reads them after all else has been
  /// enqueued.
  bool has_values(const Tensor& tensor, const Tensor& expected) {
    const Tensor next = unwritten(tensor.dtype(), tensor.numel());
    kernels::copy(context, tensor, next);
    Buffer host(Device::host(), tensor.bytes());
    const Tensor here(host, tensor.dtype(), tensor.shape());
    kernels::copy(context, next, here);
    accelerator().synchronize(context.stream());
    return tensor.bytes() == 0 || std::memcmp(here.raw(), expected.raw(), expected.bytes()) == 0;
  }

  /// Frees all that was placed.
  void forget() { buffers_.clear(); }

  Context context;

 private:
  std::deque<Buffer> buffers_;
  std::optional<ScopedDevice> computes_on_;
};

/// Rank `rank`'s values, and room for the host's results of them.
struct HostValues {
  HostValues(DType dtype, std::int64_t numel, int rank)
      : in_(Device::host(), static_cast<std::size_t>(numel) * dtype_bytes(dtype)),
        out_(Device::host(), in_.bytes()),
        in(in_, dtype, {numel}),
        out(out_, dtype, {numel}) {
    if (dtype == DType::f32) {
      for (std::int64_t i = 0; i < numel; ++i)
        in.data<float>()[i] = sample<DType::f32>(Values::wild, rank, i);
    } else {
      for (std::int64_t i = 0; i < std::ssize(in.span_bytes()); ++i)
        in.raw()[i] = std::byte(random_bits(rank, i) & 0x3f);  // no NaN in any dtype
    }
  }

 private:
  Buffer in_, out_;

 public:
  Tensor in, out;
};

struct Case {
  std::int64_t numel;
  DType dtype = DType::f32;
  bool in_place = false;
  std::int64_t granule = 1;
};

inline std::string words(const char* name, const Case& c, const Communicator& group) {
  return fmt::format("{} of {} {} elements by {} ranks, in place: {}", name, c.numel, dtype_name(c.dtype),
                     group.size(), c.in_place);
}

inline void check_all_reduce(Communicator& group, Computing& computing, const Case& c) {
  HostValues values(c.dtype, c.numel, group.rank());
  group.all_reduce(values.in, values.out).wait_host();
  const Tensor in = computing.placed(values.in);
  const Tensor out = c.in_place ? in : computing.unwritten(c.dtype, c.numel);
  group.all_reduce(in, out).wait(computing.context);
  if (!c.in_place) kernels::zero(computing.context, in);
  require(computing.has_values(out, values.out), words("all_reduce", c, group));
  computing.forget();
}

inline void check_parts(Communicator& group, Computing& computing, const Case& c) {
  const Range own = even_range(group.rank(), group.size(), c.numel, c.granule);
  HostValues values(c.dtype, c.numel, group.rank());
  const Tensor expected = values.out.flat(own.begin, own.count);
  group.reduce_scatter(values.in, expected, Reduction::sum, c.granule).wait_host();
  const Tensor in = computing.placed(values.in);
  const Tensor local = c.in_place ? in.flat(own.begin, own.count) : computing.unwritten(c.dtype, own.count);
  group.reduce_scatter(in, local, Reduction::sum, c.granule).wait(computing.context);
  require(computing.has_values(local, expected), words("reduce_scatter", c, group));

  group.all_gather(expected, values.out, c.granule).wait_host();
  const Tensor all = c.in_place ? in : computing.unwritten(c.dtype, c.numel);
  group.all_gather(local, all, c.granule).wait(computing.context);
  require(computing.has_values(all, values.out), words("all_gather", c, group));
  computing.forget();
}

inline void check_broadcast(Communicator& group, Computing& computing, const Case& c, int root) {
  const HostValues values(c.dtype, c.numel, group.rank()), expected(c.dtype, c.numel, root);
  const Tensor data = computing.placed(values.in);
  group.broadcast(data, root).wait(computing.context);
  require(computing.has_values(data, expected.in), words("broadcast", c, group));
  computing.forget();
}

inline void check_shift(Communicator& group, Computing& computing, const Case& c) {
  if (group.size() == 1) return;
  const int before = (group.rank() + group.size() - 1) % group.size();
  const HostValues values(c.dtype, c.numel, group.rank()), expected(c.dtype, c.numel, before);
  const Tensor own = computing.placed(values.in), arriving = computing.placed(values.in);
  group.send_receive((group.rank() + 1) % group.size(), own, before, arriving).wait(computing.context);
  kernels::zero(computing.context, own);
  require(computing.has_values(arriving, expected.in), words("send and receive", c, group));
  computing.forget();
}

/// Each rank sends to all other ranks at once, and receives from all of them.
inline void check_exchange(Communicator& group, Computing& computing, const Case& c) {
  const HostValues values(c.dtype, c.numel, group.rank());
  const Tensor own = computing.placed(values.in);
  std::vector<DeviceTransport::Transfer> transfers;
  for (int peer = 0; peer < group.size(); ++peer) {
    if (peer == group.rank()) continue;
    transfers.push_back({peer, computing.placed(values.in), false});
    transfers.push_back({peer, own, true});
  }
  group.exchange(transfers).wait(computing.context);
  kernels::zero(computing.context, own);
  for (const auto& [peer, data, is_send] : transfers) {
    const HostValues expected(c.dtype, c.numel, peer);
    if (!is_send) require(computing.has_values(data, expected.in), words("exchange", c, group));
  }
  computing.forget();
}

/// Checks reduce, gather and scatter.
inline void check_rooted(Communicator& group, Computing& computing, const Case& c, int root) {
  const bool is_root = group.rank() == root;
  const std::int64_t part = c.numel, numel = part * group.size();
  HostValues values(c.dtype, numel, group.rank());
  group.reduce(values.in, values.out, root).wait_host();
  const Tensor in = computing.placed(values.in);
  const Tensor out = c.in_place ? in : computing.unwritten(c.dtype, numel);
  group.reduce(in, out, root).wait(computing.context);
  require(!is_root || computing.has_values(out, values.out), words("reduce", c, group));

  const Tensor own = values.in.flat(group.rank() * part, part);
  group.gather(own, values.out, root).wait_host();
  const Tensor whole = computing.placed(values.in);
  const Tensor local = c.in_place && is_root ? whole.flat(root * part, part) : computing.placed(own);
  const Tensor all = c.in_place ? whole : computing.unwritten(c.dtype, numel);
  group.gather(local, all, root).wait(computing.context);
  require(!is_root || computing.has_values(all, values.out), words("gather", c, group));

  const HostValues expected(c.dtype, numel, root);
  const Tensor source = computing.placed(values.in);
  const Tensor got =
      c.in_place && is_root ? source.flat(root * part, part) : computing.unwritten(c.dtype, part);
  group.scatter(source, got, root).wait(computing.context);
  require(computing.has_values(got, expected.in.flat(group.rank() * part, part)), words("scatter", c, group));
  computing.forget();
}

inline void check_all_to_all(Communicator& group, Computing& computing, DType dtype, std::int64_t largest) {
  for (const auto& [what, count_of] : all_counts(group.size(), largest)) {
    Parts parts(group, count_of, static_cast<std::int64_t>(dtype_bytes(dtype)));
    const Tensor expected = view_of(parts.expected, dtype);
    const Tensor in = computing.placed(view_of(parts.in, dtype));
    const Tensor out = computing.unwritten(dtype, expected.numel());
    group.all_to_all(in, out, parts.in_counts, parts.out_counts).wait(computing.context);
    if (in.numel() > 0) kernels::zero(computing.context, in);
    require(computing.has_values(out, expected),
            fmt::format("all_to_all of {} of {} by {} ranks", what, dtype_name(dtype), group.size()));
    computing.forget();
  }
}

}  // namespace dt::comm::test
