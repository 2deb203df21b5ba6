#pragma once
// Streams of GPUs, and all work on them other than kernels.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "tensor/device/accelerator.hpp"
#include "tensor/device/device_timeout.hpp"
#include "tensor/device/graph_cache.hpp"

namespace dt::cuda {

/// Streams as Accelerator specifies them. A Stream is a cudaStream_t.
/// Thread safety: safe from several threads.
class Streams {
 public:
  explicit Streams(DeviceTimeout& limit) : limit_(limit) {}
  Stream open(Device device, const std::string& work);
  void close(Stream stream);
  void defer(Stream stream);
  void instantiate_graphs(Stream stream);
  void submit(Stream stream, const WorkKey& key, std::function<void()> enqueue);
  void copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes);
  void copy_on_devices(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes);
  void zero(Stream stream, std::byte* memory, std::size_t bytes);
  std::unique_ptr<Event> record_event(Stream stream);
  std::unique_ptr<TimedEvent> record_timed_event(Stream stream);
  void wait_stream(Stream stream, Stream other);
  void synchronize(Stream stream);
  /// Blocks until all work on the device's streams is done. Ignores failed work, as callers that
  /// wait for it get the error.
  void synchronize_device(Device device) noexcept;

  /// Selects the stream's device, enqueues deferred work, then calls `deed`, which uses the stream.
  /// If the stream defers work, no other thread uses it meanwhile.
  void flush_and_run(Stream stream, const std::function<void()>& deed);

 private:
  struct StreamInfo {
    Device device;
    std::string work;
    std::shared_ptr<GraphCache> graph_cache{};  // null: the stream defers no work
  };
  void load_kernels_once(Device device);
  StreamInfo known(Stream stream);
  static void flush_and_run(const StreamInfo& at, const std::function<void()>& deed);
  std::unique_ptr<TimedEvent> record_event(Stream stream, const StreamInfo& at, unsigned flags);

  DeviceTimeout& limit_;
  std::mutex mutex_;
  std::map<Stream, StreamInfo> known_;
  std::set<int> has_kernels_;  // by device index
};

}  // namespace dt::cuda
