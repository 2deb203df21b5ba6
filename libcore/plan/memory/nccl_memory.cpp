#include "plan/memory/nccl_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/numeric/integer.hpp"

namespace dt::plan {

namespace {

constexpr std::size_t KiB = 1024, MiB = KiB * KiB;

// src/include/device.h: NCCL_STEPS, MAXCHANNELS, NCCL_LL_LINES_PER_THREAD, NCCL_LL_MAX_NTHREADS,
// NCCL_LL128_ELEMS_PER_THREAD, NCCL_LL128_MAX_NTHREADS; an LL line (ncclLLFifoLine) has 16 bytes.
constexpr std::size_t steps = 8;
constexpr int max_channels = 64;
constexpr std::size_t default_ll_bytes = 8 * 512 * steps * 16;
constexpr std::size_t default_ll128_bytes = 120 * 640 * steps * 8;
// src/init.cc: DEFAULT_BUFFSIZE.
constexpr std::size_t default_simple_bytes = 4 * MiB;
// src/include/comm.h: ncclSendMem and ncclRecvMem are MEM_ALIGN long each; CUDA_IPC_MIN.
constexpr std::size_t head_bytes = 4096;
constexpr std::size_t shareable_granule = 2 * MiB;
// src/include/alloc.h, ncclCuMemAlloc: each allocation is rounded up to cuMemGetAllocationGranularity's
// minimum, which is 2 MiB on GPUs of sm_80 and newer. ncclCudaCallocAsync goes through it, too.
constexpr std::size_t granule = 2 * MiB;
// src/transport/net.cc: NCCL_SHARED_STEPS; src/init.cc: NCCL_P2P_NET_CHUNKSIZE, NCCL_WORK_FIFO_BYTES.
constexpr std::size_t shared_steps = 16, net_chunk_bytes = 128 * KiB, work_fifo_bytes = MiB;
// src/transport/nvls.cc: NVLS_NCHANNELS_SM90, …_SM100, …_SM100_NVL, NCCL_NVLS_CHUNKSIZE.
constexpr int nvls_channels_sm90 = 16, nvls_channels_sm100 = 32, nvls_channels_sm100_one_node = 24;
constexpr std::size_t nvls_chunk_bytes = 128 * KiB;

constexpr int first_with_channels_by_bandwidth = 22902;  // v2.29.2-1 has P2P_PER_CHANNEL_NET_BW

int up_to_power_of_two(int number) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(number)));
}

NetLinks net_of(const NcclTopology& topology, const NcclSettings& settings) {
  return settings.sockets ? NetLinks::tcp : topology.between;
}

/// Returns the number of rings that NCCL runs. Each block of a kernel serves one ring.
/// Source: src/graph/search.cc (ncclTopoCompute finds as many paths as links carry;
/// ncclTopoDupChannels doubles them from 25 GB/s on, but on sm_90 and newer to at most 4 of less than
/// 50 GB/s); src/graph/connect.cc, ncclTopoPostset: twice as many channels as paths.
int ring_channels(const NcclGroup& group, const NcclTopology& topology, NetLinks net) {
  if (group.ranks == 1) return max_channels;  // a path to itself has no end: 32 are found, and doubled
  if (group.nodes == 1 && topology.within == NodeLinks::pcie) return 2;  // one path of 12 to 24 GB/s
  // NVSwitch: 6 paths of 40 (A100: 12 links of 20 GB/s), 6 of 60 (H100: 18 of 20.6), 8 of 90 GB/s (B200: 18
  // of 40.1), doubled.
  if (group.nodes == 1) return topology.compute_major >= 10 ? 32 : 24;
  if (net == NetLinks::tcp || topology.within == NodeLinks::pcie) return 2;  // one path, of one interface
  // One path for each rank's own interface: of 48 GB/s, or 24 beside A100s.
  const bool doubles = topology.compute_major >= 9 && group.local_ranks <= 4;
  return std::min(max_channels, (doubles ? 4 : 2) * group.local_ranks);
}

/// Returns the number of channels of ncclSend and ncclRecv to one peer.
/// Source: src/graph/paths.cc, ncclTopoGetNchannels and ncclTopoComputeP2pChannels: between GPUs of a
/// node two for each NVLink, or two. Over the network two, and fewer the more ranks there are; from
/// 2.29 on, one for each 14 GB/s.
int channels_per_peer(const NcclGroup& group, const NcclTopology& topology, NetLinks net, int p2p_before,
                      int p2p) {
  int least = p2p_before;
  if (group.local_ranks > 1) {
    const int links = topology.compute_major == 8 ? 12 : 18;
    least = std::min(least, topology.within == NodeLinks::nvswitch ? 2 * links : 2);
  }
  const bool by_bandwidth = topology.version >= first_with_channels_by_bandwidth;
  if (group.nodes > 1) {
    int over_net = 2;
    if (by_bandwidth) {
      const int gbytes_s = net == NetLinks::tcp ? 12 : topology.compute_major >= 9 ? 48 : 24;
      over_net = (gbytes_s + 13) / 14;
    } else {
      while (over_net * group.ranks > 4 * p2p_before && over_net > 1) over_net /= 2;
    }
    least = std::min(least, over_net);
  }
  int per_peer = std::min(up_to_power_of_two(least), p2p);
  // From 2.29 on, all peers fit within one round of 8 operations a channel.
  while (by_bandwidth && group.nodes > 1 && per_peer > 1 && per_peer * ceil_div(group.ranks, 8) > p2p)
    per_peer /= 2;
  return per_peer;
}

int nvls_channels(const NcclGroup& group, const NcclTopology& topology, const NcclSettings& settings,
                  int most) {
  if (!settings.nvls || topology.within != NodeLinks::nvswitch || topology.compute_major < 9 ||
      group.local_ranks < 2)
    return 0;
  const int channels = topology.compute_major < 10 ? nvls_channels_sm90
                       : group.nodes > 1           ? nvls_channels_sm100
                                                   : nvls_channels_sm100_one_node;
  return std::min(channels, most);
}

/// The memory of each direction of a connection to one peer on one channel.
struct Connection {
  NcclBytes send, receive;
};

/// Returns the memory of a connection between GPUs of a node.
/// Source: src/transport/p2p.cc, p2pSendSetup and p2pRecvSetup: the receiver has the buffers of all
/// protocols. On sm_80 GPUs with NVLink the receiver reads (src/graph/paths.cc, ncclTopoCheckP2p),
/// and the sender has the buffer of SIMPLE.
Connection local_connection(const NcclTopology& topology, const NcclSettings& s) {
  const bool reads = topology.compute_major == 8 && topology.within == NodeLinks::nvswitch;
  const std::size_t of_sender = head_bytes + (reads ? s.simple_buffer_bytes : 0);
  const std::size_t of_receiver = head_bytes + s.ll_buffer_bytes + s.ll128_buffer_bytes +
                                  (reads ? std::size_t{0} : s.simple_buffer_bytes);
  return {{.device = round_up(of_sender, shareable_granule)},
          {.device = round_up(of_receiver, shareable_granule)}};
}

/// Returns the memory of a connection of rings and trees between nodes.
/// Source: src/transport/net.cc, sendProxyConnect and recvProxyConnect: with GPUDirect all buffers
/// but LL's lie in the GPU's memory, else in the host's.
Connection net_connection(NetLinks net, const NcclSettings& s) {
  const std::size_t heads = 2 * head_bytes, large = s.ll128_buffer_bytes + s.simple_buffer_bytes;
  const NcclBytes either = net == NetLinks::infiniband
                               ? NcclBytes{round_up(large, shareable_granule), s.ll_buffer_bytes + heads}
                               : NcclBytes{0, large + s.ll_buffer_bytes + heads};
  return {either, either};
}

NcclBytes times(int count, const NcclBytes& bytes) {
  const auto n = static_cast<std::size_t>(count);
  return {n * bytes.device, n * bytes.host};
}

/// Returns the memory of ncclSend and ncclRecv over the network.
/// Source: src/transport/net.cc, sharedNetBuffersInit: one buffer for all peers each way, of 16
/// chunks for each channel. Beside it two heads a connection lie in the host's memory.
NcclBytes shared_net_buffers(const NcclGroup& group, NetLinks net, const NcclChannels& channels,
                             const NcclSettings& s) {
  const std::size_t chunk = std::min(net_chunk_bytes, s.simple_buffer_bytes / steps);
  const std::size_t pool = static_cast<std::size_t>(channels.p2p) * shared_steps * chunk;
  const int ways = (group.remote_sends > 0 ? 1 : 0) + (group.remote_receives > 0 ? 1 : 0);
  const NcclBytes buffers =
      net == NetLinks::infiniband ? NcclBytes{round_up(pool, granule), 0} : NcclBytes{0, pool};
  NcclBytes bytes = times(ways, buffers);
  bytes +=
      times((group.remote_sends + group.remote_receives) * channels.p2p_per_peer, {.host = 2 * head_bytes});
  return bytes;
}

/// Returns what a communicator takes before any rank is connected.
/// Source: src/channel.cc, initChannel: three allocations a channel (devPeers of the communicator and
/// of what splits may share, devRingUserRanks), initNvlsChannel: one; src/init.cc, devCommSetup: two,
/// and the work FIFO; src/transport/nvls.cc, ncclNvlsSetup: one, of credits.
NcclBytes base_bytes(const NcclChannels& channels) {
  const int initialised = std::max({channels.collective, channels.p2p, channels.nvls});
  const int allocations = 3 * initialised + channels.nvls + (channels.nvls > 0 ? 1 : 0) + 2;
  return {static_cast<std::size_t>(allocations) * granule, work_fifo_bytes};
}

/// Returns the buffers of rings and trees. Rings (src/transport/generic.cc, ncclTransportRingConnect)
/// connect a rank with the previous and the next rank. Trees (ncclTransportTreeConnect) connect the
/// same ranks within a node, in both directions.
NcclBytes collective_buffers(const NcclGroup& group, NetLinks net, const NcclChannels& channels,
                             const NcclTopology& topology, const NcclSettings& settings) {
  const Connection near = local_connection(topology, settings), far = net_connection(net, settings);
  // Each ring leaves each node once, by one rank each way. A rank does so in as many rings as fall to
  // it when the node's ranks share them.
  const int crossing = group.nodes == 1 ? 0
                       : group.local_ranks == 1
                           ? channels.collective
                           : std::max(1, ceil_div(channels.collective, group.local_ranks));
  const int local = channels.collective - crossing;
  NcclBytes bytes = times(local, near.send);
  bytes += times(local, near.receive);
  bytes += times(crossing, far.send);
  bytes += times(crossing, far.receive);
  if (group.reduces) bytes += bytes;  // trees
  return bytes;
}

/// Returns the buffers of NVLS. NCCL takes NVLS for gathers on one node alone, for reductions also
/// over several nodes (src/graph/tuning.cc, ncclTopoTuneModel).
/// Source: src/transport/nvls.cc, ncclNvlsBufferSetup: reduction and broadcast buffers for each head
/// (GPU of the node) and channel.
NcclBytes nvls_buffers(const NcclGroup& group, const NcclChannels& channels) {
  if (channels.nvls == 0 || (group.nodes > 1 && !group.reduces)) return {};
  const std::size_t bytes = static_cast<std::size_t>(channels.nvls) * 2 * nvls_chunk_bytes * steps *
                            static_cast<std::size_t>(group.local_ranks);
  return {.device = round_up(bytes, granule)};
}

/// Returns a number as NCCL reads it (src/misc/param.cc): a whole number, decimal or 0x…. Returns
/// `otherwise` if there is none.
std::int64_t number_in(const Environment& environment, const char* name, std::int64_t otherwise) {
  const char* const text = environment(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const long long value = std::strtoll(text, &end, 0);
  return end == text ? otherwise : value;
}

std::size_t buffer_in(const Environment& environment, const char* name, std::size_t otherwise) {
  const std::int64_t bytes = number_in(environment, name, -2);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : otherwise;
}

/// Returns a number of channels, or 0 if there is none, as NCCL takes it.
int channels_in(const Environment& environment, const char* name) {
  const std::int64_t channels = number_in(environment, name, 0);
  return channels > 0 ? static_cast<int>(std::min<std::int64_t>(channels, max_channels)) : 0;
}

}  // namespace

NcclSettings nccl_settings(const Environment& environment) {
  const char* const net = environment("NCCL_NET");
  const int most = channels_in(environment, "NCCL_MAX_NCHANNELS");
  return {.ll_buffer_bytes = buffer_in(environment, "NCCL_LL_BUFFSIZE", default_ll_bytes),
          .ll128_buffer_bytes = buffer_in(environment, "NCCL_LL128_BUFFSIZE", default_ll128_bytes),
          .simple_buffer_bytes = buffer_in(environment, "NCCL_BUFFSIZE", default_simple_bytes),
          .max_ctas = channels_in(environment, "NCCL_MAX_CTAS"),
          .max_channels = most > 0 ? most : max_channels,
          .nvls = number_in(environment, "NCCL_NVLS_ENABLE", 2) != 0,
          .sockets = (net != nullptr && std::strcmp(net, "Socket") == 0) ||
                     number_in(environment, "NCCL_IB_DISABLE", 0) != 0};
}

NcclChannels nccl_channels(const NcclGroup& group, const NcclTopology& topology,
                           const NcclSettings& settings) {
  const int ctas = settings.max_ctas > 0 ? settings.max_ctas : group.max_ctas;
  const int most = ctas > 0 ? std::min(ctas, settings.max_channels) : settings.max_channels;
  const NetLinks net = net_of(topology, settings);
  NcclChannels channels;
  channels.collective = std::min(most, ring_channels(group, topology, net));
  channels.nvls = nvls_channels(group, topology, settings, most);
  channels.p2p = up_to_power_of_two(channels.collective);
  channels.p2p_per_peer = channels_per_peer(group, topology, net, channels.collective, channels.p2p);
  return channels;
}

NcclBytes nccl_memory(const NcclGroup& group, const NcclTopology& topology, const NcclSettings& settings) {
  const NcclChannels channels = nccl_channels(group, topology, settings);
  NcclBytes bytes = base_bytes(channels);
  if (group.ranks == 1) return bytes;
  const NetLinks net = net_of(topology, settings);
  const Connection near = local_connection(topology, settings);
  bytes += times(group.local_sends * channels.p2p_per_peer, near.send);
  bytes += times(group.local_receives * channels.p2p_per_peer, near.receive);
  bytes += shared_net_buffers(group, net, channels, settings);
  if (group.gathers || group.reduces) {
    bytes += collective_buffers(group, net, channels, topology, settings);
    bytes += nvls_buffers(group, channels);
  }
  return bytes;
}

}  // namespace dt::plan
