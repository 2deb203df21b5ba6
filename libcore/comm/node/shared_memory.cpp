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

/// Memory that this process has mapped. The last object that shares it unmaps it.
class SharedMemory::Mapping : public std::enable_shared_from_this<Mapping> {
 public:
  /// Returns null if the system refuses.
  static std::shared_ptr<Mapping> of(int descriptor, std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return memory == MAP_FAILED ? nullptr : std::make_shared<Mapping>(static_cast<std::byte*>(memory), bytes);
  }
  Mapping(std::byte* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}
  Mapping(const Mapping&) = delete;
  ~Mapping() { munmap(memory_, bytes_); }
  std::byte* memory() const { return memory_; }

 private:
  std::byte* memory_;
  std::size_t bytes_;
};

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(bytes) {}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : bytes_(other.bytes_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      mapping_(std::move(other.mapping_)) {}

SharedMemory::~SharedMemory() {
  close_offer();
}

std::size_t SharedMemory::mapped_bytes() const {
  return page_bytes + bytes_;
}

std::byte* SharedMemory::data() const {
  return mapping_->memory() + page_bytes;
}

SharedMemory::Offer SharedMemory::make() {
  descriptor_ = memfd_create("dt", MFD_CLOEXEC);
  if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(mapped_bytes())) != 0) return {};
  mapping_ = Mapping::of(descriptor_, mapped_bytes());
  if (!mapping_) return {};
  Offer offer{.process = getpid(),
              .descriptor = descriptor_,
              .mapping = reinterpret_cast<std::uintptr_t>(mapping_.get())};
  std::random_device random;
  for (std::uint64_t& word : offer.token) word = (std::uint64_t{random()} << 32) | random();
  std::memcpy(mapping_->memory(), offer.token.data(), sizeof offer.token);
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
                     pread(descriptor, token.data(), sizeof token, 0) == sizeof token && token == offer.token;
  if (is_it) {
    mapping_ = offer.process == getpid() ? reinterpret_cast<Mapping*>(offer.mapping)->shared_from_this()
                                         : Mapping::of(descriptor, mapped_bytes());
  }
  close(descriptor);
  return mapping_ != nullptr;
}

void SharedMemory::close_offer() {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

}  // namespace dt::comm
