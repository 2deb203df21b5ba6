#include "comm/nccl/library.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/core.h>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "comm/communicator.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "comm/exchange.hpp"
#include "comm/nccl/transport.cuh"

namespace dt::comm::nccl {

namespace {

constexpr int most_channels = 64;  // MAXCHANNELS of NCCL, which caps larger numbers to it

/// Returns the number in a text; 0: not set, or not a number that NCCL accepts.
int number_in(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number > 0 ? number : 0;
}

std::string text_of(int ctas) {
  return ctas == 0 ? "NCCL's default CTAs" : fmt::format("{} CTA{}", ctas, ctas == 1 ? "" : "s");
}

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
                "NCCL_SOCKET_IFNAME selects the network interface for the bootstrap");
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

std::string ignored_fields(int version) {
  std::string names;
  for (const ConfigField& field : config_fields) {
    if (version < field.since) names += (names.empty() ? "" : ", ") + std::string(field.name);
  }
  return names;
}

int max_ctas(DeviceGroupUse use, const std::string& nccl_max_ctas) {
  const int asked = number_in(nccl_max_ctas);
  return asked > 0 ? std::min(asked, most_channels) : max_ctas(use);
}

std::string limits(int version, const std::string& nccl_max_ctas) {
  const std::string ignored = ignored_fields(version);
  if (!ignored.empty()) return fmt::format("this NCCL version ignores the settings {}", ignored);
  return fmt::format("pipeline channels use {}, overlapped reductions and gathers {}{}",
                     text_of(max_ctas(DeviceGroupUse::pipeline, nccl_max_ctas)),
                     text_of(max_ctas(DeviceGroupUse::overlapping, nccl_max_ctas)),
                     number_in(nccl_max_ctas) > 0 ? " (NCCL_MAX_CTAS)" : "");
}

void register_nccl() {
  static Nccl library;
  set_device_transport_library(&library);
}

}  // namespace dt::comm::nccl
