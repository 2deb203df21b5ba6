#include "device/test_device.hpp"

#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <sys/mman.h>
#include <vector>

#include "base/error.hpp"
#include "kernels/cuda/table.hpp"

namespace dt {

struct StreamState {
  struct Work {
    std::function<void()> run;
    std::function<bool()> may_begin = [] { return true; };
  };
  std::deque<Work> work;
};

}  // namespace dt

namespace dt::test_device {

namespace {

constexpr std::size_t page_bytes = 4096, alignment = 256;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Closed but while the device works. It ends at a page's end, but for its alignment, and the next page is
/// nobody's.
class Memory {
 public:
  explicit Memory(std::size_t bytes)
      : bytes_(round_up(bytes, alignment)), pages_(round_up(bytes_, page_bytes)) {
    void* const memory = ::mmap(nullptr, pages_ + page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    DT_CHECK(memory != MAP_FAILED, "no {} bytes for the test device", bytes);
    memory_ = static_cast<std::byte*>(memory);
  }
  ~Memory() { ::munmap(memory_, pages_ + page_bytes); }
  Memory(const Memory&) = delete;
  std::byte* begin() const { return memory_ + pages_ - bytes_; }
  void open(bool is_open) const { ::mprotect(memory_, pages_, is_open ? PROT_READ | PROT_WRITE : PROT_NONE); }

 private:
  std::size_t bytes_, pages_;
  std::byte* memory_;
};

class TestDevice final : public Accelerator {
 public:
  explicit TestDevice(std::uint64_t seed) : random_(seed) {}

  std::byte* allocate(Device, std::size_t bytes) override {
    auto memory = std::make_unique<Memory>(bytes);
    std::byte* const begin = memory->begin();
    memories_.emplace(begin, std::move(memory));
    return begin;
  }
  void release(Device, std::byte* memory) override { memories_.erase(memory); }

  void clear(Device, std::span<std::byte> memory) override {
    const Opened opened(*this);
    std::memset(memory.data(), 0, memory.size());
  }

  Stream open_stream(Device) override { return &streams_.emplace_back(); }
  void close(Stream stream) override {
    DT_CHECK(stream->work.empty(), "a stream is closed before it has done its work");
    streams_.remove_if([&](const StreamState& state) { return &state == stream; });
  }

  void copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) override {
    stream->work.push_back({[=] { std::memcpy(to, from, bytes); }});
  }
  void zero(Stream stream, std::byte* memory, std::size_t bytes) override {
    stream->work.push_back({[=] { std::memset(memory, 0, bytes); }});
  }
  void follow(Stream stream, Stream other) override {
    auto has_come = std::make_shared<bool>(false);
    other->work.push_back({[has_come] { *has_come = true; }});
    stream->work.push_back({[] {}, [has_come] { return *has_come; }});
  }
  void wait(Stream stream) override {
    const Opened opened(*this);
    while (!stream->work.empty()) run_any();
  }

  std::uint64_t next_seed() { return random_(); }

 private:
  /// The device works, and nobody else.
  struct Opened {
    explicit Opened(TestDevice& of) : device(of) { device.open(true); }
    ~Opened() { device.open(false); }
    TestDevice& device;
  };
  void open(bool is_open) {
    for (const auto& [begin, memory] : memories_) memory->open(is_open);
  }

  /// The first piece of work of some stream that has any.
  void run_any() {
    std::vector<StreamState*> ready;
    for (StreamState& stream : streams_) {
      if (!stream.work.empty() && stream.work.front().may_begin()) ready.push_back(&stream);
    }
    DT_CHECK(!ready.empty(), "streams wait for each other");
    StreamState& stream = *ready[random_() % ready.size()];
    const StreamState::Work work = std::move(stream.work.front());
    stream.work.pop_front();
    work.run();
  }

  std::mt19937_64 random_;
  std::list<StreamState> streams_;
  std::map<std::byte*, std::unique_ptr<Memory>> memories_;
};

std::unique_ptr<TestDevice> device;

}  // namespace

Use::Use(std::uint64_t seed) {
  DT_CHECK(device == nullptr, "the test device is used twice");
  device = std::make_unique<TestDevice>(seed);
  set_accelerator(device.get());
  kernels::set_gpu_kernels(&kernels::cuda::table);
}

Use::~Use() {
  kernels::set_gpu_kernels(nullptr);
  set_accelerator(nullptr);
  device.reset();
}

void enqueue(const Context& context, Launch launch) {
  DT_CHECK(context.stream() != nullptr, "{}: the context has no stream", launch.kernel);
  const std::uint64_t seed = device->next_seed();
  context.stream()->work.push_back({[launch = std::move(launch), seed] { run(launch, seed); }});
}

}  // namespace dt::test_device
