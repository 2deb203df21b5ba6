#pragma once
// Holds a rank's activations and their gradients while micro-batches are under way.

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "model/units/unit.hpp"
#include "parallel/schedule/action.hpp"
#include "parallel/state/buffer_pool.hpp"
#include "tensor/buffer.hpp"
#include "tensor/device/device.hpp"

namespace dt::parallel {

/// The activations of a rank. Buffers come from a pool that grows to the largest demand of a step
/// and then allocates no more. The pool is made for the largest micro-batch so far. Smaller ones,
/// such as the last of an evaluation, use its buffers.
class Activations {
 public:
  /// The buffers of one unit and one micro-batch. A unit of this rank has them between forward and
  /// backward_weight. For a unit of another stage, the record has what this rank needs of that
  /// unit.
  struct Record {
    Buffer output;  // y
    Buffer saved;
    Buffer backward_handoff;
    Buffer output_gradient;     // dy
    comm::Work output_receive;  // from another stage; else done
    comm::Work gradient_receive;
    bool is_backward_weight_done = false;  // backward_weight's work is done
  };

  /// `units` must outlive the object.
  Activations(Device device, const std::vector<std::unique_ptr<model::Unit>>& units)
      : device_(device), units_(units) {}

  /// Begins a list over these micro-batches, which actions number from `first` on. Returns true if
  /// the pool was emptied because they are larger than any before.
  bool start(std::span<const model::MicroBatch> micro_batches, int first);

  const model::MicroBatch& micro_batch(const Action& action) const;
  const model::Unit& unit(int number) const { return *units_[static_cast<std::size_t>(number)]; }
  Record& record_of(int unit, int micro_batch) { return records_[{unit, micro_batch}]; }
  Record& record_of(const Action& action) { return record_of(action.unit, action.micro_batch); }

  /// Return views of buffers that were taken, with a unit's shapes and dtype for a micro-batch.
  Tensor acquire_output(int unit, const Action& action);
  Tensor acquire_output_gradient(int unit, const Action& action);
  /// Makes the output's buffer its gradient's from now on.
  Tensor reuse_output_for_gradient(int unit, const Action& action);
  Tensor output(int unit, const Action& action);
  Tensor output_gradient(int unit, const Action& action);

  /// Returns a buffer of `bytes`, or larger.
  Buffer acquire(std::size_t bytes);
  /// Adds a spare buffer of `bytes` to the pool.
  /// Errors: environment, memory is short.
  void add_spare(std::size_t bytes);
  /// Returns the pool's spare buffers as sizes.
  SimulatedPool simulated() const;
  void release(Buffer&& buffer);
  std::size_t output_bytes(int unit, const Action& action) const;
  Device device() const { return device_; }
  void erase_if_empty(int unit, int micro_batch);

  /// Returns how many pairs of a unit and a micro-batch hold something.
  std::size_t num_records() const { return records_.size(); }
  /// Returns the bytes of all buffers that the pool has made for the current size of micro-batches.
  std::size_t pool_bytes() const { return pool_bytes_; }

 private:
  Tensor view(int unit, const Action& action, const Buffer& buffer) const;
  std::size_t largest_for(std::size_t bytes) const;

  Device device_;
  const std::vector<std::unique_ptr<model::Unit>>& units_;
  std::span<const model::MicroBatch> micro_batches_;
  int first_ = 0;
  std::map<std::pair<int, int>, Record> records_;  // by unit and micro-batch
  /// Spare buffers by size, then by address. Each step thus takes the same buffers, in whatever
  /// order the previous step returned them.
  std::map<std::pair<std::size_t, const std::byte*>, Buffer> pool_;
  std::size_t pool_bytes_ = 0;
  std::int64_t pool_tokens_ = 0;  // tokens of the micro-batches that its buffers were made for
  bool is_exact_ = true;  // micro-batches are as large as the pool's, so each kind of buffer has its size
};

}  // namespace dt::parallel
