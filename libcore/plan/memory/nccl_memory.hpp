#pragma once
// Computes the memory that an NCCL communicator takes, by the allocations in NCCL's source. It
// needs neither NCCL nor a GPU.
//
// Source: NCCL 2.28.9 (tag v2.28.9-1) and 2.30.7 (v2.30.7-1); each rule names the file. If the two
// differ, NcclTopology::version decides. NCCL connects ranks when an operation first needs the
// connection (init.cc, runtimeConn), so what a communicator takes follows from what it is used for.

#include <cstddef>
#include <functional>

namespace dt::plan {

/// Links between the GPUs of a node, and between nodes.
enum class NodeLinks { nvswitch, pcie };
enum class NetLinks { infiniband, tcp };

struct NcclTopology {
  NodeLinks within = NodeLinks::nvswitch;
  NetLinks between = NetLinks::infiniband;
  int compute_major = 9;  // major number of the GPUs' compute capability
  int version = 22809;    // NCCL_VERSION_CODE
};

/// Settings in NCCL's environment that change its memory.
struct NcclSettings {
  std::size_t ll_buffer_bytes, ll128_buffer_bytes, simple_buffer_bytes;
  int max_ctas = 0;      // NCCL_MAX_CTAS, which overrides a communicator's own; 0: not set
  int max_channels = 0;  // NCCL_MAX_NCHANNELS, or as many as NCCL has
  bool nvls = true;      // NCCL_NVLS_ENABLE
  bool sockets = false;  // NCCL_NET=Socket or NCCL_IB_DISABLE=1
};
/// Returns the value of an environment variable, or nullptr.
using Environment = std::function<const char*(const char* name)>;
NcclSettings nccl_settings(const Environment& environment);

/// One rank's view of a communicator.
struct NcclGroup {
  int ranks = 1;
  int nodes = 1;
  int local_ranks = 1;  // ranks on the node that has most of them
  int max_ctas = 0;     // ncclConfig_t::maxCTAs; 0: NCCL's choice
  // Peers that this rank sends to and receives from by ncclSend and ncclRecv.
  int local_sends = 0, local_receives = 0;
  int remote_sends = 0, remote_receives = 0;
  bool gathers = false;  // uses ncclAllGather or ncclBroadcast
  bool reduces = false;  // uses ncclAllReduce or ncclReduceScatter
};

/// The numbers in NCCL's line "24 coll channels, … 16 nvls channels, 32 p2p channels, 32 p2p channels
/// per peer" (NCCL_DEBUG=INFO).
struct NcclChannels {
  int collective = 0;
  int nvls = 0;
  int p2p = 0;
  int p2p_per_peer = 0;
  bool operator==(const NcclChannels&) const = default;
};
NcclChannels nccl_channels(const NcclGroup& group, const NcclTopology& topology,
                           const NcclSettings& settings);

struct NcclBytes {
  std::size_t device = 0;
  std::size_t host = 0;  // pinned
  NcclBytes& operator+=(const NcclBytes& other) {
    device += other.device, host += other.host;
    return *this;
  }
};
/// Returns the most that the communicator takes. All peers are connected. Of the algorithms that NCCL
/// may choose for its operations, those that its defaults allow are counted.
NcclBytes nccl_memory(const NcclGroup& group, const NcclTopology& topology, const NcclSettings& settings);

}  // namespace dt::plan
