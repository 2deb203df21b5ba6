#include "comm/node/shared_memory.hpp"

#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace dt::comm {

namespace {

/// Bytes of the page before the data, which holds the token.
constexpr std::size_t page_bytes = 4096;

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(bytes) {}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : bytes_(other.bytes_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      mapping_(std::exchange(other.mapping_, nullptr)) {}

SharedMemory::~SharedMemory() {
  close_offer();
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes());
}

std::size_t SharedMemory::mapped_bytes() const {
  return page_bytes + bytes_;
}

std::byte* SharedMemory::data() const {
  return mapping_ + page_bytes;
}

bool SharedMemory::map(int descriptor) {
  void* memory = mmap(nullptr, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return false;
  mapping_ = static_cast<std::byte*>(memory);
  return true;
}

SharedMemory::Offer SharedMemory::make() {
  descriptor_ = memfd_create("dt", MFD_CLOEXEC);
  if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(mapped_bytes())) != 0 || !map(descriptor_))
    return {};
  Offer offer{.process = getpid(), .descriptor = descriptor_};
  std::random_device random;
  for (std::uint64_t& word : offer.token) word = (std::uint64_t{random()} << 32) | random();
  std::memcpy(mapping_, offer.token.data(), sizeof offer.token);
  return offer;
}

bool SharedMemory::accept(const Offer& offer) {
  if (offer.descriptor < 0) return false;
  const std::string path = fmt::format("/proc/{}/fd/{}", offer.process, offer.descriptor);
  const int descriptor = open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return false;
  // Processes of two machines or containers may have the same number; then this is other memory.
  std::array<std::uint64_t, 2> token{};
  const bool is_it = lseek(descriptor, 0, SEEK_END) == static_cast<off_t>(mapped_bytes()) &&
                     pread(descriptor, token.data(), sizeof token, 0) == sizeof token &&
                     token == offer.token && map(descriptor);
  close(descriptor);
  return is_it;
}

void SharedMemory::close_offer() {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

}  // namespace dt::comm
