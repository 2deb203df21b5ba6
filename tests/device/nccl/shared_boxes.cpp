#include "device/nccl/shared_boxes.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.hpp"

namespace dt::test_device {

std::size_t Box::write(const std::byte* bytes, std::size_t count) {
  const std::uint64_t written = written_;
  count = std::min<std::size_t>(count, capacity - (written - read_));
  for (std::size_t i = 0; i < count; ++i) data_[(written + i) % capacity] = bytes[i];
  written_ = written + count;
  return count;
}

std::size_t Box::read(std::byte* bytes, std::size_t count) {
  const std::uint64_t read = read_;
  count = std::min<std::size_t>(count, written_ - read);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = data_[(read + i) % capacity];
  read_ = read + count;
  return count;
}

SharedBoxes::SharedBoxes(const std::string& name, int rank, int size)
    : name_(name),
      rank_(rank),
      size_(size),
      bytes_(sizeof(Head) + static_cast<std::size_t>(size * size) * sizeof(Box)) {
  DT_CHECK(size <= most_ranks, "the stand-in of NCCL takes {} ranks", most_ranks);
  const int file = ::shm_open(name_.c_str(), O_RDWR | O_CREAT, 0600);
  DT_CHECK(file >= 0 && ::ftruncate(file, static_cast<off_t>(bytes_)) == 0, "shared memory {}: {}", name_,
           std::strerror(errno));
  void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  DT_CHECK(memory != MAP_FAILED, "shared memory {}: {}", name_, std::strerror(errno));
  head_ = static_cast<Head*>(memory);
  boxes_ = reinterpret_cast<Box*>(static_cast<std::byte*>(memory) + sizeof(Head));
  head_->processes[rank] = ::getpid();
  ++head_->arrived;
}

SharedBoxes::~SharedBoxes() {
  ::munmap(head_, bytes_);
}

/// Once all ranks have arrived, the name is no longer needed.
bool SharedBoxes::all_have_arrived() {
  if (head_->arrived < size_) return false;
  if (rank_ == 0) ::shm_unlink(name_.c_str());
  return true;
}

bool SharedBoxes::some_process_has_ended() const {
  for (int rank = 0; rank < size_; ++rank) {
    const pid_t process = head_->processes[rank];
    if (process != 0 && ::kill(process, 0) != 0 && errno == ESRCH) return true;
  }
  return false;
}

}  // namespace dt::test_device
