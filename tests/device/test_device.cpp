#include "device/test_device.hpp"

#include <memory>
#include <utility>

#include "device/test_accelerator.hpp"
#include "kernels/cuda/launch/kernels.hpp"

namespace dt::test_device {

namespace {

std::unique_ptr<TestAccelerator> device;
int num_uses = 0;

}  // namespace

Use::Use(std::uint64_t seed) {
  DT_CHECK(device == nullptr, "the test device is used twice");
  ++num_uses;
  device = std::make_unique<TestAccelerator>(seed);
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

void Use::attach_profiler() {
  device->attach_profiler();
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

void submit(const Context& context, const WorkKey& key, Launch launch) {
  const Stream stream = context.stream();
  device->load_for(context.device(), launch, key);
  device->submit(stream, key,
                 [stream, piece = device->piece_of(std::move(launch))] { device->take(stream, piece); });
}

void run_on_stream(Stream stream, std::function<void(std::uint64_t seed)> kernel) {
  device->take(stream, device->piece_of(std::move(kernel)));
}

void enqueue(const Context& context, Launch launch) {
  device->flush_and_run(context.stream(),
                        [&] { device->take(context.stream(), device->piece_of(std::move(launch))); });
}

}  // namespace dt::test_device
