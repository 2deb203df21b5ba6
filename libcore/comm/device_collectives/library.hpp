#pragma once
// The library that makes the program's stream transports.

#include <memory>
#include <span>
#include <string>

#include "comm/device_collectives/device_transport.hpp"

namespace dt::comm {

class Communicator;

class DeviceTransportLibrary {
 public:
  virtual ~DeviceTransportLibrary() = default;
  /// Returns "NCCL 2.28.9".
  /// Errors: environment, the library is missing, or another than the program was built for.
  virtual std::string version() = 0;
  /// Returns whether several ranks of a group may compute on one GPU.
  virtual bool takes_shared_gpus() = 0;
  /// Makes the group's transport, each rank for its device. Waits for the other ranks for `timeout_s`
  /// (0: for ever).
  /// Errors: environment.
  /// Collective: all ranks of the group call it, and no others; blocks.
  virtual std::unique_ptr<DeviceTransport> open(Communicator& group, Device device, double timeout_s,
                                                DeviceGroupUse use = DeviceGroupUse::world) = 0;
  /// Returns a text that says which limits on CTAs (most_ctas) take effect, given the environment.
  virtual std::string limits() { return {}; }
  /// Aborts all operations under way on the transports of this library. Aborts them all at once,
  /// since the stream of one may wait for another's. Leaves transports of other libraries alone.
  virtual void abort(std::span<DeviceTransport* const> transports) noexcept = 0;
};

/// Returns the program's library; null: there is none.
DeviceTransportLibrary* device_transport_library();
/// Sets the program's library; null removes it. Call once, before device_transport_library().
void set_device_transport_library(DeviceTransportLibrary* library);

}  // namespace dt::comm
