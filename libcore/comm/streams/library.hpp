#pragma once
// What makes the program's stream transports.

#include <memory>
#include <span>
#include <string>

#include "comm/streams/transport.hpp"

namespace dt::comm {

class Communicator;

class StreamLibrary {
 public:
  virtual ~StreamLibrary() = default;
  /// "NCCL 2.28.9". Errors: environment, where it is missing, or another than the program was built for.
  virtual std::string version() = 0;
  /// Whether several ranks of a group may compute on one GPU.
  virtual bool takes_shared_gpus() = 0;
  /// Called by all ranks of the group together, each for its device: all of them, in order. Waits for the
  /// others for `timeout_s` (0: for ever). Errors: environment.
  virtual std::unique_ptr<StreamTransport> open(Communicator& group, Device device, double timeout_s,
                                                StreamUse use = StreamUse::world) = 0;
  /// Tells which of the most CTAs of each use take effect, also where the environment says otherwise.
  virtual std::string limits() { return {}; }
  /// All of its own that are under way end, though not as they should: at once, for the stream of one may
  /// wait for another's. Leaves transports that are not its own alone.
  virtual void abort(std::span<StreamTransport* const> transports) noexcept = 0;
};

/// nullptr: the program has none.
StreamLibrary* stream_library();
/// Once, before it is asked for; nullptr: none any more.
void set_stream_library(StreamLibrary* library);

}  // namespace dt::comm
