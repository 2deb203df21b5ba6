#pragma once
// Units that stand in for the decoder's: some take known times, others count what they hold.

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "model/units/unit.hpp"

namespace dt::bench {

/// A unit with the shapes, parameters and memory of another unit.
class Stand : public model::Unit {
 public:
  explicit Stand(std::unique_ptr<model::Unit> of) : of_(std::move(of)) {}
  const model::UnitSpec& spec() const override { return of_->spec(); }
  DType output_dtype() const override { return of_->output_dtype(); }
  Shape output_shape(std::int64_t batch, std::int64_t sequence) const override {
    return of_->output_shape(batch, sequence);
  }
  std::size_t saved_bytes(std::int64_t batch, std::int64_t sequence) const override {
    return of_->saved_bytes(batch, sequence);
  }
  std::size_t backward_handoff_bytes(Device device, std::int64_t batch,
                                     std::int64_t sequence) const override {
    return of_->backward_handoff_bytes(device, batch, sequence);
  }
  std::size_t scratch_bytes(Device device, std::int64_t batch, std::int64_t sequence) const override {
    return of_->scratch_bytes(device, batch, sequence);
  }
  bool has_gradients_in_forward() const override { return of_->has_gradients_in_forward(); }

 protected:
  const model::Unit& of() const { return *of_; }

 private:
  std::unique_ptr<model::Unit> of_;
};

/// The times of a unit for a micro-batch.
struct Seconds {
  double forward = 0, backward_input = 0, backward_weight = 0;
  double sum() const { return forward + backward_input + backward_weight; }
};

/// A rank's processor, simulated. It sleeps instead of using a core, and lets messages advance as kernels
/// do. The next sleep is shortened by what the system let it oversleep, so that computing takes no more
/// time than requested. Time that a rank waits, and that it spends on all else, counts in full.
class SleepingProcessor {
 public:
  void compute(const Context& context, double seconds) {
    using namespace std::chrono;
    const auto until = Time::now() + duration_cast<Time::duration>(duration<double>(seconds)) - overslept_;
    while (Time::now() < until) {
      std::this_thread::sleep_until(std::min(until, Time::now() + microseconds(500)));
      context.poll();
    }
    last_ = Time::now();
    overslept_ = last_ - until;
  }
  /// Returns when it last computed.
  double last_s() const { return std::chrono::duration<double>(last_.time_since_epoch()).count(); }

 private:
  using Time = std::chrono::steady_clock;
  Time::time_point last_{};
  Time::duration overslept_{};
};

/// A unit that takes known times, computes nothing and keeps nothing. All units take the same, the head and
/// the embedding, too.
class SleepingUnit final : public Stand {
 public:
  SleepingUnit(std::unique_ptr<model::Unit> of, SleepingProcessor& processor, const Seconds& seconds)
      : Stand(std::move(of)), processor_(processor), seconds_(seconds) {}
  std::size_t saved_bytes(std::int64_t, std::int64_t) const override { return 0; }
  std::size_t backward_handoff_bytes(Device, std::int64_t, std::int64_t) const override { return 0; }
  bool has_gradients_in_forward() const override { return false; }

  void forward(const Context& context, const model::MicroBatch&, std::span<const Tensor>, const Tensor&,
               const Tensor&, std::span<std::byte>, std::span<const Tensor>) const override {
    processor_.compute(context, seconds_.forward);
  }
  void backward_input(const Context& context, const model::MicroBatch&, std::span<const Tensor>,
                      const Tensor&, const Tensor&, const Tensor&, std::span<std::byte>,
                      std::span<std::byte>) const override {
    processor_.compute(context, seconds_.backward_input);
  }
  void backward_weight(const Context& context, const model::MicroBatch&, const Tensor&,
                       std::span<const Tensor>, std::span<std::byte>, std::span<std::byte>) const override {
    processor_.compute(context, seconds_.backward_weight);
  }

 private:
  SleepingProcessor& processor_;
  Seconds seconds_;
};

/// Counts, for each unit of a rank, the micro-batches between their forward and their weight half.
class Count {
 public:
  void begin(int unit) { most_ = std::max(most_, ++under_way_[unit]); }
  void end(int unit) { --under_way_[unit]; }
  int most() const { return most_; }

 private:
  std::map<int, int> under_way_;
  int most_ = 0;
};

/// A unit that computes as the wrapped one does, and counts.
class CountedUnit final : public Stand {
 public:
  CountedUnit(std::unique_ptr<model::Unit> of, int number, Count& count)
      : Stand(std::move(of)), number_(number), count_(count) {}

  void forward(const Context& context, const model::MicroBatch& micro_batch, std::span<const Tensor> weights,
               const Tensor& x, const Tensor& y, std::span<std::byte> saved,
               std::span<const Tensor> grads) const override {
    count_.begin(number_);
    of().forward(context, micro_batch, weights, x, y, saved, grads);
  }
  void backward_input(const Context& context, const model::MicroBatch& micro_batch,
                      std::span<const Tensor> weights, const Tensor& x, const Tensor& dy, const Tensor& dx,
                      std::span<std::byte> saved, std::span<std::byte> backward_handoff) const override {
    of().backward_input(context, micro_batch, weights, x, dy, dx, saved, backward_handoff);
    if (has_gradients_in_forward()) count_.end(number_);
  }
  void backward_weight(const Context& context, const model::MicroBatch& micro_batch, const Tensor& dy,
                       std::span<const Tensor> grads, std::span<std::byte> saved,
                       std::span<std::byte> backward_handoff) const override {
    of().backward_weight(context, micro_batch, dy, grads, saved, backward_handoff);
    count_.end(number_);
  }

 private:
  int number_;
  Count& count_;
};

}  // namespace dt::bench
