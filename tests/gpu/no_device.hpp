#pragma once
// An accelerator without a GPU.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt::test_device {

/// Has a named stream and no memory: work on it fails before it begins.
class NoDevice final : public Accelerator {
 public:
  std::vector<Gpu> gpus() override { return {}; }
  std::size_t free_bytes(Device) override { return 0; }
  void select(Device) override {}
  void set_timeout(double) override {}
  std::byte* allocate(Device, std::size_t) override { throw environment_error("no memory"); }
  void release(Device, std::byte*) override {}
  std::byte* allocate_pinned(std::size_t) override { throw environment_error("no memory"); }
  void release_pinned(std::byte*) override {}
  void pin(std::byte*, std::size_t) override {}
  void unpin(std::byte*) override {}
  Stream open_stream(Device, const std::string&) override { return nullptr; }
  void close_stream(Stream) override {}
  void defer(Stream) override {}
  void flush(Stream) override {}
  void instantiate_graphs(Stream) override {}
  void submit(Stream, const WorkKey&, std::function<void()> enqueue) override { enqueue(); }
  void copy(Stream, std::byte*, const std::byte*, std::size_t) override {}
  void zero(Stream, std::byte*, std::size_t) override {}
  std::unique_ptr<Event> record_event(Stream) override { return nullptr; }
  std::unique_ptr<TimedEvent> record_timed_event(Stream) override { return nullptr; }
  void wait_stream(Stream, Stream) override {}
  void synchronize(Stream) override {}
  bool profiler_attached() override { return false; }
  void begin_range(const std::string&) override {}
  void end_range() override {}
};

}  // namespace dt::test_device
