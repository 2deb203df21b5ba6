#pragma once
// Streams of GPUs, and what they are given that is no kernel.

#include <map>
#include <memory>
#include <mutex>

#include "tensor/accelerator.hpp"

namespace dt::cuda {

/// As Accelerator says it; thread-safe. A Stream is a cudaStream_t.
class Streams {
 public:
  Stream open(Device device);
  void close(Stream stream);
  void copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes);
  void zero(Stream stream, std::byte* memory, std::size_t bytes);
  std::unique_ptr<Mark> mark(Stream stream);
  void follow(Stream stream, Stream other);
  void wait(Stream stream);

 private:
  Device device_of(Stream stream);
  Device select(Stream stream);

  std::mutex mutex_;
  std::map<Stream, int> devices_;
};

}  // namespace dt::cuda
