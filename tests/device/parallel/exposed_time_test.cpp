#include "parallel/state/exposed_time.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <thread>

#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"
#include "kernels/elementwise.hpp"
#include "parallel/executor_rig.hpp"
#include "parallel/grouped_spec.hpp"
#include "parallel/one_rank.hpp"
#include "parallel/state/groups.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

constexpr double slow_s = 0.05;

void enqueue_slow_kernel(const Context& context) {
  test_device::enqueue(context, {"slow", {}, 1, 0, [] {
                                   std::this_thread::sleep_for(std::chrono::duration<double>(slow_s));
                                 }});
}

/// Fills the device before an action, so that the action's first kernel waits for a slow one.
class SlowBefore final : public StepObserver {
 public:
  SlowBefore(dt_test::Rig& rig, const Action& watched)
      : rig_(rig),
        watched_(watched),
        memory_(rig.context.device(), 4096),
        values_(memory_, DType::f32, {1024}) {
    rig.context.set_poll([this] { poll(); });
    rig.executor.add_observer(*this);
    rig.storage.ranks().exposed_time().set_observer(this);
  }

  void on_action_begin(const Action& action) override {
    if (action != watched_) return;
    // Fills from one wait, which is for the mark before the last, to just before the next wait but one.
    num_waits_ = 0;
    for (int i = 0; num_waits_ == 0 && i < 2 * StreamThrottle::kernels_between_events; ++i) fill();
    enqueue_slow_kernel(rig_.context);
    for (int i = 1; i < 2 * StreamThrottle::kernels_between_events; ++i) fill();
  }
  void on_action_end(const Action& action, const ActionTimes& times) override {
    if (action == watched_) own_s = times.compute_s();
  }
  void on_exposed_communication(double, double) override { ++num_exposed_; }

  double own_s = 0;             // the action's own
  int num_exposed_waiting = 0;  // polls that counted though the host waited for the device

 private:
  void fill() { kernels::fill(rig_.context, 1, values_); }
  void poll() {
    const int before = num_exposed_;
    rig_.executor.poll();
    if (!rig_.context.is_waiting()) return;
    ++num_waits_;
    num_exposed_waiting += num_exposed_ - before;
  }

  dt_test::Rig& rig_;
  Action watched_;
  Buffer memory_;
  Tensor values_;
  int num_exposed_ = 0, num_waits_ = 0;
};

}  // namespace

TEST_CASE("on a rank alone no wait for its device is communication", "[test-device]") {
  const test_device::Use device(1);
  // The first kernels: a block's gradients begin as zeros; in control the ends of a tied table meet.
  for (const Action& action : {Action{ActionKind::backward_weight, 1, 0}, Action{ActionKind::control}}) {
    INFO(name_of(action.kind));
    const model::ModelSpec spec = dt_test::grouped_spec(1, true);
    dt_test::Rig rig(spec, 1, 1, Device::gpu(0));
    auto batch = test::Batch::arbitrary(spec, 1, 4);
    std::vector<model::MicroBatch> micro_batches = dt_test::split(batch);
    std::deque<Buffer> memory;
    for (Tensor* const rows :
         {&micro_batches[0].tokens_R, &micro_batches[0].labels_R, &micro_batches[0].positions_R}) {
      const Tensor there(memory.emplace_back(rig.context.device(), rows->bytes()), rows->dtype(),
                         rows->shape());
      kernels::copy(rig.context, *rows, there);
      *rows = there;
    }
    SlowBefore slow(rig, action);
    rig.executor.run(dt_test::build_training_step({.num_units = rig.num_units(), .num_micro_batches = 1}),
                     micro_batches, 0, dt_test::no_hooks());
    rig.context.synchronize();
    CHECK(slow.own_s >= slow_s);
    CHECK(slow.num_exposed_waiting == 0);
    rig.storage.ranks().exposed_time().set_observer(nullptr);
  }
}

TEST_CASE("what a device still computes is no communication; what follows is", "[test-device]") {
  const test_device::Use device(1);
  comm::run_threads(1, [](comm::Communicator& world) {
    const Context context(1, Device::gpu(0));
    const comm::ScopedDevice computes_on(world.engine(), context);
    const Groups groups(model::Layout{}, world);
    const Buffer memory(context.device(), 4096);
    const Tensor values(memory, DType::f32, {1024});
    ExposedTime& exposed = groups.exposed_time();
    const double started_s = monotonic_s();
    // The start of an operation polls the device once, which does one of the kernels.
    for (int i = 0; i < 3; ++i) enqueue_slow_kernel(context);
    const comm::Work work = world.all_reduce(values, values);
    exposed.measure([&] { work.wait(context); });
    CHECK(world.engine().waited_for_device_s() >= 2 * slow_s);
    CHECK(exposed.sum_s() <= monotonic_s() - started_s - 3 * slow_s);

    // Later waits are for work that is enqueued only, or on the device already.
    const double waited_s = world.engine().waited_for_device_s(), exposed_before_s = exposed.sum_s();
    context.synchronize();
    const comm::Work again = world.all_reduce(values, values);
    while (!again.done()) groups.poll();
    const double began_s = monotonic_s();
    exposed.measure([&] {
      again.wait(context);
      exposed.measure([] { std::this_thread::sleep_for(std::chrono::duration<double>(slow_s)); });
    });
    CHECK(world.engine().waited_for_device_s() == waited_s);
    CHECK(exposed.sum_s() >= exposed_before_s + slow_s);
    CHECK(exposed.sum_s() - exposed_before_s <= monotonic_s() - began_s);  // nested time counts once
    return 0;
  });
}
