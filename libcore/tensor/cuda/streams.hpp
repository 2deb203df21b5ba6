#pragma once
// Streams of GPUs, and what they are given that is no kernel.

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tensor/accelerator.hpp"
#include "tensor/time_limit.hpp"

namespace dt::cuda {

/// As Accelerator says it; thread-safe. A Stream is a cudaStream_t.
class Streams {
 public:
  explicit Streams(TimeLimit& limit) : limit_(limit) {}
  Stream open(Device device, const std::string& work);
  void close(Stream stream);
  void copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes);
  void zero(Stream stream, std::byte* memory, std::size_t bytes);
  std::unique_ptr<Mark> mark(Stream stream);
  std::unique_ptr<TimedMark> timed_mark(Stream stream);
  void follow(Stream stream, Stream other);
  void wait(Stream stream);
  /// Until all is done that any stream of the device was given. What has failed was said, or will be, by who
  /// waits for it.
  void settle(Device device) noexcept;

 private:
  struct Known {
    int device;
    std::string work;
  };
  Known known(Stream stream);
  /// Makes its device that of this thread.
  Known select(Stream stream);

  TimeLimit& limit_;
  std::mutex mutex_;
  std::map<Stream, Known> known_;
};

}  // namespace dt::cuda
