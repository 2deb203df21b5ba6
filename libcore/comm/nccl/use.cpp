#include "comm/nccl/use.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "comm/communicator.hpp"
#include "comm/device_collectives/library.hpp"
#include "comm/exchange.hpp"
#include "comm/nccl/abort.cuh"
#include "comm/nccl/config.hpp"
#include "comm/nccl/transport.cuh"

namespace dt::comm::nccl {

namespace {

// The first version in which several ranks of a communicator may be on one GPU, if
// NCCL_MULTI_RANK_GPU_ENABLE says so.
constexpr int first_with_shared_gpus = NCCL_VERSION(2, 30, 0);

int loaded_version() {
  int version = 0;
  functions().ncclGetVersion(&version);
  return version;
}

std::string text_of(const ncclUniqueId& id) {
  return {id.internal, sizeof id.internal};
}

/// Returns the id that rank 0 makes, on all ranks.
ncclUniqueId common_id(Communicator& group, Device device) {
  ncclUniqueId id{};
  run_collectively(group, [&] {
    if (group.rank() > 0) return;
    const ncclResult_t result = functions().ncclGetUniqueId(&id);
    if (result == ncclSuccess) return;
    const char* const said = functions().ncclGetLastError(nullptr);
    throw Error(ErrorKind::environment,
                fmt::format("{}: {}: ncclGetUniqueId: {} ({})", host_name(), device.to_string(),
                            functions().ncclGetErrorString(result), said == nullptr ? "" : said),
                "NCCL_SOCKET_IFNAME names the interface through which ranks first meet");
  });
  const std::string text = broadcast_text(group, text_of(id));
  std::memcpy(id.internal, text.data(), sizeof id.internal);
  return id;
}

class Nccl final : public DeviceTransportLibrary {
 public:
  std::string version() override { return "NCCL " + version_text(loaded_version()); }
  bool takes_shared_gpus() override {
    const char* const wish = ::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    return loaded_version() >= first_with_shared_gpus && wish != nullptr && std::string(wish) == "1";
  }
  std::unique_ptr<DeviceTransport> open(Communicator& group, Device device, double timeout_s,
                                        DeviceGroupUse use) override {
    const ncclUniqueId id = common_id(group, device);
    return std::make_unique<NcclTransport>(id, group.rank(), group.size(), device, timeout_s, use);
  }
  std::string limits() override {
    return nccl::limits(loaded_version(), environment_variable("NCCL_MAX_CTAS").value_or(""));
  }
  void abort(std::span<DeviceTransport* const> transports) noexcept override {
    std::vector<ncclComm_t> comms;
    for (DeviceTransport* const transport : transports) {
      if (auto* const own = dynamic_cast<NcclTransport*>(transport))
        comms.push_back(own->release_communicator());
    }
    abort_all(std::move(comms));
  }
};

}  // namespace

void register_nccl() {
  static Nccl library;
  set_device_transport_library(&library);
}

}  // namespace dt::comm::nccl
