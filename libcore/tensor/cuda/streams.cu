#include <atomic>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "tensor/cuda/check.cuh"
#include "tensor/cuda/gpus.hpp"
#include "tensor/cuda/kernel_loading.hpp"
#include "tensor/cuda/streams.hpp"
#include "tensor/device/accelerator.hpp"
#include "tensor/device/graph_cache.hpp"

namespace dt::cuda {

namespace {

cudaStream_t native(Stream stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
struct DestroyExecutable {
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<CUgraph_st, DestroyGraph>;
using Executable = std::shared_ptr<CUgraphExec_st>;

/// Captures the work that `enqueue` enqueues on the stream. Ends the capture even if `enqueue`
/// throws. During the capture, CUDA forbids unsafe calls to this thread alone.
Graph captured(Device device, cudaStream_t stream, const GraphCache::Enqueue& enqueue) {
  check(device, "capturing work", cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    cudaGetLastError();  // the error of the cancelled capture
    const Graph given_up(graph);
    throw;
  }
  const cudaError_t error = cudaStreamEndCapture(stream, &graph);
  Graph whole(graph);
  check(device, "capturing work", error);
  return whole;
}

/// Returns the executable graph, already uploaded, so that its first launch does not wait for the
/// upload.
Executable executable(Device device, cudaStream_t stream, const Graph& graph) {
  cudaGraphExec_t made = nullptr;
  check(device, "instantiating a graph", cudaGraphInstantiate(&made, graph.get(), 0));
  const Executable whole(made, DestroyExecutable());
  check(device, "instantiating a graph", cudaGraphUpload(made, stream));
  return whole;
}

void warn(const Error& error) {
  static std::atomic<bool> was_said = false;
  if (was_said.exchange(true)) return;
  std::fprintf(stderr, "warning: no CUDA graph: kernels are launched one by one, which is slower: %s\n",
               error.what());
}

/// Captures work for GraphCache, and returns a function that launches it on `stream`: one call for a
/// stretch of the stream's work. Returns an empty function if the work cannot be captured, or if a
/// call of CUDA fails; the work can still be enqueued as it is. Warns once.
GraphCache::Enqueue capture(Device device, Stream stream, const GraphCache::Enqueue& enqueue) {
  select(device);
  try {
    const Executable graph = executable(device, native(stream), captured(device, native(stream), enqueue));
    return [device, stream, graph] {
      select(device);
      check(device, "launching a graph", cudaGraphLaunch(graph.get(), native(stream)));
    };
  } catch (const Error& error) {
    warn(error);
    return {};
  }
}

/// An event of the selected device.
class CudaEvent final : public TimedEvent {
 public:
  CudaEvent(Streams& streams, cudaEvent_t event, std::string work, DeviceTimeout& limit)
      : streams_(streams),
        event_(event),
        device_(selected()),
        work_(std::move(work)),
        limit_(limit),
        made_s_(monotonic_s()) {}
  ~CudaEvent() override { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  bool is_complete() override {
    cuda::select(device_);
    const cudaError_t error = cudaEventQuery(event_);
    if (error == cudaErrorNotReady) {
      cudaGetLastError();  // not ready is no error
      if (limit_.is_expired(made_s_)) limit_.fail(made_s_, device_label(device_), work_);
      return false;
    }
    check(device_, work_.c_str(), error);
    return true;
  }
  void make_stream_wait(Stream stream) override {
    streams_.flush_and_run(stream, [&] {
      check(device_, "waiting for an event", cudaStreamWaitEvent(native(stream), event_, 0));
    });
  }
  double elapsed_since_s(const TimedEvent& other) override {
    float milliseconds = 0;
    cuda::select(device_);
    check(device_, "reading an event's time",
          cudaEventElapsedTime(&milliseconds, dynamic_cast<const CudaEvent&>(other).event_, event_));
    return double{milliseconds} * 1e-3;
  }

 private:
  Streams& streams_;
  cudaEvent_t event_;
  Device device_;
  std::string work_;
  DeviceTimeout& limit_;
  double made_s_;
};

}  // namespace

/// Loads the kernels of a device. Call before anything is enqueued there.
void Streams::load_kernels_once(Device device) {
  const std::lock_guard lock(mutex_);
  if (has_kernels_.contains(device.index())) return;
  load_kernels(device);
  has_kernels_.insert(device.index());
}

Stream Streams::open(Device device, const std::string& work) {
  cuda::select(device);
  load_kernels_once(device);
  cudaStream_t stream = nullptr;
  check(device, "creating a stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(reinterpret_cast<Stream>(stream), StreamInfo{device, work});
  return reinterpret_cast<Stream>(stream);
}

void Streams::close(Stream stream) {
  try {
    synchronize(stream);
  } catch (const std::exception&) {
    // Callers that wait for the work get the error, as in settle().
  }
  {
    const std::lock_guard lock(mutex_);  // before another stream may get the same handle
    known_.erase(stream);
  }
  if (!limit_.has_expired()) cudaStreamDestroy(native(stream));
}

void Streams::defer(Stream stream) {
  const std::lock_guard lock(mutex_);
  StreamInfo& at = known_.at(stream);
  at.graph_cache = std::make_shared<GraphCache>(
      [device = at.device, stream](const auto& enqueue) { return capture(device, stream, enqueue); });
}

void Streams::instantiate_graphs(Stream stream) {
  const StreamInfo at = known(stream);
  if (at.graph_cache) at.graph_cache->instantiate_graphs();
}

void Streams::submit(Stream stream, const WorkKey& key, std::function<void()> enqueue) {
  const StreamInfo at = known(stream);
  at.graph_cache ? at.graph_cache->defer(key, std::move(enqueue)) : enqueue();
}

void Streams::copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  flush_and_run(stream, [&] {
    check(selected(), "copying", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)));
  });
}

void Streams::copy_on_devices(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  submit(stream, WorkKey("copy", to, from, bytes), [=, device = known(stream).device] {
    cuda::select(device);
    check(device, "copying", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)));
  });
}

void Streams::zero(Stream stream, std::byte* memory, std::size_t bytes) {
  submit(stream, WorkKey("zero", memory, bytes), [=, device = known(stream).device] {
    cuda::select(device);
    check(device, "clearing memory", cudaMemsetAsync(memory, 0, bytes, native(stream)));
  });
}

std::unique_ptr<Event> Streams::record_event(
    Stream stream) {  // without a time the event costs the device less
  return record_event(stream, known(stream), cudaEventDisableTiming);
}

std::unique_ptr<TimedEvent> Streams::record_timed_event(Stream stream) {
  return record_event(stream, known(stream), cudaEventDefault);
}

std::unique_ptr<TimedEvent> Streams::record_event(Stream stream, const StreamInfo& at, unsigned flags) {
  cudaEvent_t event = nullptr;
  flush_and_run(at, [&] {
    check(at.device, "marking", cudaEventCreateWithFlags(&event, flags));
    const cudaError_t error = cudaEventRecord(event, native(stream));
    if (error != cudaSuccess) cudaEventDestroy(event);
    check(at.device, "marking", error);
  });
  return std::make_unique<CudaEvent>(*this, event, at.work, limit_);
}

void Streams::wait_stream(Stream stream, Stream other) {
  record_event(other)->make_stream_wait(stream);
}

void Streams::synchronize(Stream stream) {
  if (limit_.is_set()) {
    const std::unique_ptr<Event> end = record_event(stream);
    return poll_until([&] { return end->is_complete(); });
  }
  const StreamInfo at = known(stream);
  flush_and_run(at, [] {});
  check(at.device, at.work.c_str(), cudaStreamSynchronize(native(stream)));
}

void Streams::synchronize_device(Device device) noexcept {
  // Failed work no longer touches memory.
  const auto attempt = [](const auto& deed) {
    try {
      deed();
    } catch (const std::exception&) {
    }
  };
  std::vector<std::unique_ptr<Event>> ends;
  {
    const std::lock_guard lock(mutex_);  // no stream is closed while this records events
    for (const auto& [stream, at] : known_) {
      if (at.device == device)
        attempt([&] { ends.push_back(record_event(stream, at, cudaEventDisableTiming)); });
    }
  }
  for (const std::unique_ptr<Event>& end : ends)
    attempt([&] { poll_until([&] { return end->is_complete(); }); });
}

Streams::StreamInfo Streams::known(Stream stream) {
  const std::lock_guard lock(mutex_);
  return known_.at(stream);
}

void Streams::flush_and_run(Stream stream, const std::function<void()>& deed) {
  flush_and_run(known(stream), deed);
}

void Streams::flush_and_run(const StreamInfo& at, const std::function<void()>& deed) {
  cuda::select(at.device);
  at.graph_cache ? at.graph_cache->flush_and_run(deed) : deed();
}

}  // namespace dt::cuda
