#include "device/test_device.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "kernels/cuda/table.hpp"
#include "tensor/repeating_work.hpp"
#include "tensor/retired.hpp"
#include "tensor/time_limit.hpp"

namespace dt {

struct StreamState {
  struct Work {
    std::function<void()> run;
    std::function<bool()> may_begin = [] { return true; };
  };
  std::deque<Work> work;
  Device device;
  std::string name;
  std::unique_ptr<RepeatingWork> kept{};  // null: nothing is kept back
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
  std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_); }
  std::byte* begin() const { return memory_ + pages_ - bytes_; }
  bool has(const std::byte* address) const { return address >= begin() && address < begin() + bytes_; }
  void open(bool is_open) const { ::mprotect(memory_, pages_, is_open ? PROT_READ | PROT_WRITE : PROT_NONE); }

 private:
  std::size_t bytes_, pages_;
  std::byte* memory_;
};

class TestDevice final : public Accelerator {
 public:
  explicit TestDevice(std::uint64_t seed) : random_(seed) {}

  std::vector<Gpu> gpus() override {
    const char* const name = std::getenv("DT_TEST_DEVICE_NAME");
    const Gpu first{
        .name = name != nullptr ? name : "test device", .memory_bytes = memory_bytes, .software = "fibers"};
    const char* const count = std::getenv("DT_TEST_DEVICE_GPUS");
    std::vector<Gpu> gpus(count != nullptr ? std::stoul(count) : 2, first);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      gpus[i].id = fmt::format("test-{}", i);
      gpus[i].address = fmt::format("test:{}", i);
      gpus[i].ordinal = static_cast<int>(i);
    }
    return gpus;
  }
  std::size_t free_bytes(Device) override {
    const Lock lock(mutex_);
    return memory_bytes - std::min(memory_bytes, static_cast<std::size_t>(counts_.bytes));
  }
  void select(Device) override {}
  void set_time_limit(double seconds) override { limit_.set(seconds); }

  std::byte* allocate(Device of, std::size_t bytes) override {
    if (waits_in_allocations_) settle(of);
    const Lock lock(mutex_);
    throw_if_failed();
    auto memory = std::make_unique<Memory>(bytes);
    if (stays_open_) memory->open(true);
    std::byte* const begin = memory->begin();
    ++counts_.allocations;
    if (RetiredMemory::is_kept()) ++counts_.in_lists;
    counts_.bytes += memory->bytes();
    counts_.most_bytes = std::max(counts_.most_bytes, counts_.bytes);
    allocations_.add(begin, bytes);
    memories_.emplace(begin, std::move(memory));
    return begin;
  }
  void release(Device of, std::byte* memory) override {
    settle(of);
    allocations_.remove(memory);
    const Lock lock(mutex_);
    const auto place = memories_.find(memory);
    ++counts_.frees;
    counts_.bytes -= place->second->bytes();
    memories_.erase(place);
  }
  std::byte* allocate_pinned(std::size_t bytes) override {
    auto* const memory = static_cast<std::byte*>(std::calloc(bytes, 1));
    pin(memory, bytes);
    return memory;
  }
  void release_pinned(std::byte* memory) override {
    unpin(memory);
    std::free(memory);
  }
  void pin(std::byte* memory, std::size_t bytes) override {
    const Lock lock(mutex_);
    ++counts_.pinnings;
    if (RetiredMemory::is_kept()) ++counts_.in_lists;
    pinned_.emplace(memory, bytes);
  }
  void unpin(std::byte* memory) override {
    const Lock lock(mutex_);
    ++counts_.unpinnings;
    pinned_.erase(memory);
  }

  Stream open_stream(Device device, const std::string& work) override {
    const Lock lock(mutex_);
    throw_if_failed();
    return &streams_.emplace_back(StreamState{.work = {}, .device = device, .name = work});
  }
  void close(Stream stream) override {
    settle(stream->device);
    const Lock lock(mutex_);
    streams_.remove_if([&](const StreamState& state) { return &state == stream; });
  }

  void keep_back(Stream stream) override {
    const Lock lock(mutex_);
    stream->kept = std::make_unique<RepeatingWork>(
        [this, stream](const RepeatingWork::Enqueue& enqueue) { return capture(stream, enqueue); });
  }
  void give_kept(Stream stream) override {
    use(stream, [] {});
  }
  void make_graphs(Stream stream) override {
    const Lock lock(mutex_);
    if (stream->kept) stream->kept->make_graphs();
  }
  void give(Stream stream, const WorkKey& key, std::function<void()> enqueue) override {
    const Lock lock(mutex_);
    throw_if_failed();
    stream->kept ? stream->kept->keep(key, std::move(enqueue)) : enqueue();
  }
  /// `deed` after what is kept back.
  void use(Stream stream, const std::function<void()>& deed) {
    const Lock lock(mutex_);
    stream->kept ? stream->kept->use(deed) : deed();
  }
  void enqueue(Stream stream, StreamState::Work work) {
    use(stream, [&] {
      throw_if_failed();
      stream->work.push_back(std::move(work));
    });
  }
  void copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) override {
    const Lock lock(mutex_);
    const auto move = [=, this] {
      linger();
      if (bytes > 0) std::memcpy(to, from, bytes);  // of nothing the address may be null
    };
    if (has(from) && has(to))
      return give(stream, WorkKey("copy", to, from, bytes), [=, this] { take(stream, {move, false}); });
    if (has(from)) ++counts_.reads;
    if (!is_pinned(has(from) ? to : from)) ++counts_.unpinned;
    ++counts_.moves;
    enqueue(stream, {move});
  }
  void zero(Stream stream, std::byte* memory, std::size_t bytes) override {
    give(stream, WorkKey("zero", memory, bytes), [=, this] {
      take(stream, {[=] {
                      if (bytes > 0) std::memset(memory, 0, bytes);
                    },
                    false});
    });
  }
  std::unique_ptr<Mark> mark(Stream stream) override { return timed_mark(stream); }
  std::unique_ptr<TimedMark> timed_mark(Stream stream) override {
    return std::make_unique<TestMark>(*this, *stream, end_of(stream));
  }
  void follow(Stream stream, Stream other) override { hold_back(stream, end_of(other)); }
  void wait(Stream stream) override {
    {
      const Lock lock(mutex_);
      give_kept(stream);
      if (run_until([&] { return stream->work.empty(); })) return throw_if_failed();
      throw_if_failed();
      DT_CHECK(limit_.is_set(), "streams wait for each other");
    }
    const std::unique_ptr<Mark> end = mark(stream);
    ask_until([&] { return end->is_reached(); });
  }

  void break_at(std::int64_t kernel, Use::Fault fault) {
    kernels_to_fault_ = kernel;
    fault_ = fault;
  }
  /// What can be kept back, as it is: given to its stream, or to the graph that is being made of it.
  struct Piece {
    std::function<void()> run;
    bool is_kernel = true;
  };
  void take(Stream stream, Piece piece) {
    if (skips_work_) return;
    if (captured_ != nullptr) return captured_->push_back(std::move(piece));
    throw_if_failed();
    if (piece.is_kernel) return launch(*stream, std::move(piece.run));
    ++counts_.moves;
    stream->work.push_back({std::move(piece.run)});
  }
  void launch(StreamState& stream, std::function<void()> kernel) {
    ++counts_.kernels;
    if (--kernels_to_fault_ != 0) {
      return stream.work.push_back({[this, kernel = std::move(kernel)] {
        linger();
        kernel();
      }});
    }
    if (fault_ == Use::Fault::hang) return stream.work.push_back({[] {}, [] { return false; }});
    stream.work.push_back({[this, device = stream.device] {
      failed_.emplace(ErrorKind::environment, name_of(device) + ": a kernel has failed");
    }});
  }

  void slow_down(double seconds) { more_s_ = seconds; }
  void skip_work() { skips_work_ = true; }
  void wait_in_allocations() { waits_in_allocations_ = true; }
  void leave_open() {
    const Lock lock(mutex_);
    open(true);
    stays_open_ = true;
  }
  void load(Use::Loading loading) { loading_ = loading; }
  std::int64_t loaded() const { return std::ssize(loaded_); }
  /// Called before it is given, while nobody's lock is held: other ranks go on meanwhile.
  void load_for(Device of, const Launch& launch, const WorkKey& key) {
    if (loading_ == Use::Loading::beforehand) return;
    if (loading_ == Use::Loading::of_libraries && launch.of_library.empty()) return;
    const std::string what = launch.of_library.empty() ? name_of_kernel(key) : launch.of_library;
    {
      const Lock lock(mutex_);
      if (!loaded_.emplace(of.index(), what).second) return;
    }
    settle(of);
  }
  bool has_audience() override { return is_listened_to_; }
  void begin_range(const std::string& name) override {
    const Lock lock(mutex_);
    ranges_.names.push_back(name);
    ranges_.most_depth = std::max(ranges_.most_depth, ++ranges_.depth);
  }
  void end_range() override {
    const Lock lock(mutex_);
    --ranges_.depth;
  }
  void listen() { is_listened_to_ = true; }
  const Use::Ranges& ranges() const { return ranges_; }

  Use::Counts counts() const { return counts_; }

  /// A kernel, to be given or kept.
  Piece piece_of(Launch launch) {
    return {[this, launch = std::move(launch)] { run(launch, random_()); }};
  }
  Piece piece_of(std::function<void(std::uint64_t seed)> kernel) {
    return {[this, kernel = std::move(kernel)] { kernel(random_()); }};
  }

 private:
  using Lock = std::lock_guard<std::recursive_mutex>;
  /// When what it is of was over (monotonic); 0: it is not.
  using OverAt = std::shared_ptr<double>;

  /// Whoever asks makes the device do a little.
  class TestMark final : public TimedMark {
   public:
    TestMark(TestDevice& device, const StreamState& stream, OverAt over_at)
        : device_(device),
          of_(stream.device),
          work_(stream.name),
          made_s_(monotonic_s()),
          over_at_s_(std::move(over_at)) {}
    bool is_reached() override {
      const Lock lock(device_.mutex_);
      if (*over_at_s_ == 0) {
        const Opened opened(device_);
        device_.run_any();
      }
      device_.throw_if_failed();
      if (*over_at_s_ != 0) return true;
      if (device_.limit_.is_over(made_s_)) device_.limit_.fail(made_s_, name_of(of_), work_);
      return false;
    }
    void hold_back(Stream stream) override { device_.hold_back(stream, over_at_s_); }
    double since_s(const TimedMark& other) override {
      const OverAt before_s = dynamic_cast<const TestMark&>(other).over_at_s_;
      DT_CHECK(*before_s != 0 && *over_at_s_ != 0, "times of marks that are not reached");
      return *over_at_s_ - *before_s;
    }

   private:
    TestDevice& device_;
    Device of_;
    std::string work_;
    double made_s_;
    OverAt over_at_s_;
  };

  void linger() const {
    if (more_s_ > 0) std::this_thread::sleep_for(std::chrono::duration<double>(more_s_));
  }

  /// A kernel's key begins with its address.
  static std::string name_of_kernel(const WorkKey& key) {
    return std::string(key.bytes().substr(0, sizeof(void*)));
  }
  static std::string name_of(Device device) {
    return fmt::format("{}: {} (test device)", host_name(), device.to_string());
  }
  void throw_if_failed() const {
    if (failed_) throw Error(*failed_);
  }

  bool has(const std::byte* address) const {
    const auto after = memories_.upper_bound(const_cast<std::byte*>(address));
    return after != memories_.begin() && std::prev(after)->second->has(address);
  }

  bool is_pinned(const std::byte* address) const {
    const auto after = pinned_.upper_bound(address);
    return after != pinned_.begin() && address < std::prev(after)->first + std::prev(after)->second;
  }

  /// Until all is done that streams of that device were given, whoever else has a part in it. Where there is
  /// no time limit somebody waits in vain after a while, which is told to whoever uses the device next.
  void settle(Device of) {
    std::vector<std::pair<std::string, std::unique_ptr<Mark>>> ends;
    {
      const Lock lock(mutex_);
      give_all_of(of);
      run_until([] { return false; });
      for (StreamState& stream : streams_) {
        if (stream.device == of && !stream.work.empty() && !failed_)
          ends.emplace_back(stream.name, mark(&stream));
      }
    }
    const double since_s = monotonic_s();
    try {
      for (const auto& [work, end] : ends) {
        ask_until([&] {
          if (!limit_.is_set() && monotonic_s() - since_s > longest_settling_s) fail_to_settle(of, work);
          return end->is_reached();
        });
      }
    } catch (const Error&) {
      // Who waits for it is told.
    }
  }
  [[noreturn]] void fail_to_settle(Device of, const std::string& work) {
    const Lock lock(mutex_);
    failed_.emplace(ErrorKind::internal,
                    fmt::format("{}: memory is freed, or a kernel loaded, which waits in vain for {}",
                                name_of(of), work));
    throw Error(*failed_);
  }

  void give_all_of(Device device) {
    try {
      for (StreamState& stream : streams_) {
        if (stream.device == device) give_kept(&stream);
      }
    } catch (const Error&) {
      // Who uses it is told.
    }
  }

  /// Launched again, its pieces are as new ones, but that nobody is asked for them.
  RepeatingWork::Enqueue capture(Stream stream, const RepeatingWork::Enqueue& enqueue) {
    const auto pieces = std::make_shared<std::vector<Piece>>();
    ++counts_.graphs;
    captured_ = pieces.get();
    enqueue();
    captured_ = nullptr;
    return [this, stream, pieces] {
      ++counts_.launches;
      counts_.in_graphs += static_cast<std::int64_t>(pieces->size());
      for (const Piece& piece : *pieces) take(stream, piece);
    };
  }

  void hold_back(Stream stream, OverAt until_s) {
    enqueue(stream, {[] {}, [until_s = std::move(until_s)] { return *until_s != 0; }});
  }

  OverAt end_of(Stream stream) {
    auto over_at_s = std::make_shared<double>(0);
    enqueue(stream, {[over_at_s] { *over_at_s = monotonic_s(); }});
    return over_at_s;
  }

  /// The device works, and of its thread nobody else.
  struct Opened {
    explicit Opened(TestDevice& of) : device(of) { device.open(true); }
    ~Opened() { device.open(false); }
    TestDevice& device;
  };
  void open(bool is_open) {
    if (stays_open_) return;
    for (const auto& [begin, memory] : memories_) memory->open(is_open);
  }

  /// False where nothing that is left may begin.
  template <class Question>
  bool run_until(const Question& is_so) {
    const Opened opened(*this);
    while (!is_so()) {
      if (!run_any()) return false;
    }
    return true;
  }

  /// The first piece of work of some stream; false where none has any that may begin.
  bool run_any() {
    if (failed_) return false;
    std::vector<StreamState*> ready;
    for (StreamState& stream : streams_) {
      if (!stream.work.empty() && stream.work.front().may_begin()) ready.push_back(&stream);
    }
    if (ready.empty()) return false;
    StreamState& stream = *ready[random_() % ready.size()];
    const StreamState::Work work = std::move(stream.work.front());
    stream.work.pop_front();
    work.run();
    return true;
  }

  static constexpr double longest_settling_s = 20;
  static constexpr std::size_t memory_bytes = std::size_t{16} << 30;
  std::recursive_mutex mutex_;
  std::mt19937_64 random_;
  std::list<StreamState> streams_;
  std::map<std::byte*, std::unique_ptr<Memory>> memories_;
  std::map<const std::byte*, std::size_t> pinned_;  // of the host
  std::vector<Piece>* captured_ = nullptr;          // of the graph that is being made, if any
  Use::Counts counts_;
  Use::Ranges ranges_;
  bool is_listened_to_ = false;
  TimeLimit limit_;
  std::int64_t kernels_to_fault_ = 0;  // from 1; none where it is less
  Use::Fault fault_ = Use::Fault::error;
  double more_s_ = 0;
  bool skips_work_ = false;
  bool stays_open_ = false;
  bool waits_in_allocations_ = false;
  Use::Loading loading_ = Use::Loading::beforehand;
  std::set<std::pair<int, std::string>> loaded_;  // by device
  std::optional<Error> failed_;
};

std::unique_ptr<TestDevice> device;
int num_uses = 0;

}  // namespace

Use::Use(std::uint64_t seed) {
  DT_CHECK(device == nullptr, "the test device is used twice");
  ++num_uses;
  device = std::make_unique<TestDevice>(seed);
  set_accelerator(device.get());
  kernels::set_gpu_kernels(&kernels::cuda::table);
}

Use::~Use() {
  kernels::set_gpu_kernels(nullptr);
  set_accelerator(nullptr);
  device.reset();
}

Use::Counts Use::counts() const {
  return device->counts();
}

void Use::listen() {
  device->listen();
}

const Use::Ranges& Use::ranges() const {
  return device->ranges();
}

void Use::break_at(std::int64_t kernel, Fault fault) {
  device->break_at(kernel, fault);
}

void Use::slow_down(double seconds) {
  device->slow_down(seconds);
}

void Use::skip_work() {
  device->skip_work();
}

void Use::wait_in_allocations() {
  device->wait_in_allocations();
}

void Use::leave_open() {
  device->leave_open();
}

void Use::load(Loading loading) {
  device->load(loading);
}

std::int64_t Use::loaded() const {
  return device->loaded();
}

int Use::times() {
  return num_uses;
}

void enqueue(Stream stream, std::function<bool()> is_over) {
  device->enqueue(stream, {[] {}, std::move(is_over)});
}

void give(const Context& context, const WorkKey& key, Launch launch) {
  const Stream stream = context.stream();
  device->load_for(context.device(), launch, key);
  device->give(stream, key,
               [stream, piece = device->piece_of(std::move(launch))] { device->take(stream, piece); });
}

void take(Stream stream, std::function<void(std::uint64_t seed)> kernel) {
  device->take(stream, device->piece_of(std::move(kernel)));
}

void enqueue(const Context& context, Launch launch) {
  device->use(context.stream(), [&] { device->take(context.stream(), device->piece_of(std::move(launch))); });
}

}  // namespace dt::test_device
