#include "parallel/engine/activations.hpp"

#include <algorithm>
#include <limits>

namespace dt::parallel {

using model::MicroBatch;
using model::Unit;

bool Activations::start(std::span<const MicroBatch> micro_batches, int first) {
  micro_batches_ = micro_batches;
  first_ = first;
  std::int64_t tokens = 0;
  for (const MicroBatch& m : micro_batches) tokens = std::max(tokens, m.batch * m.sequence);
  const bool is_larger = tokens > pool_tokens_;
  if (is_larger) {
    pool_.clear();
    pool_bytes_ = 0;
    pool_tokens_ = tokens;
  }
  is_exact_ = tokens == pool_tokens_;
  return is_larger;
}

const MicroBatch& Activations::micro_batch(const Action& action) const {
  return micro_batches_[static_cast<std::size_t>(action.micro_batch - first_)];
}

Tensor Activations::view(int unit, const Action& action, const Buffer& buffer) const {
  const Unit& u = this->unit(unit);
  const MicroBatch& m = micro_batch(action);
  return Tensor(buffer, u.output_dtype(), u.output_shape(m.batch, m.sequence));
}

std::size_t Activations::output_bytes(int unit, const Action& action) const {
  const Unit& u = this->unit(unit);
  const MicroBatch& m = micro_batch(action);
  return static_cast<std::size_t>(u.output_shape(m.batch, m.sequence).numel()) *
         dtype_bytes(u.output_dtype());
}

Tensor Activations::acquire_output(int unit, const Action& action) {
  record_of(unit, action.micro_batch).output = acquire(output_bytes(unit, action));
  return output(unit, action);
}

Tensor Activations::acquire_output_gradient(int unit, const Action& action) {
  record_of(unit, action.micro_batch).output_gradient = acquire(output_bytes(unit, action));
  return output_gradient(unit, action);
}

Tensor Activations::reuse_output_for_gradient(int unit, const Action& action) {
  Record& record = record_of(unit, action.micro_batch);
  record.output_gradient = std::move(record.output);
  return output_gradient(unit, action);
}

Tensor Activations::output(int unit, const Action& action) {
  return view(unit, action, record_of(unit, action.micro_batch).output);
}

Tensor Activations::output_gradient(int unit, const Action& action) {
  return view(unit, action, record_of(unit, action.micro_batch).output_gradient);
}

/// Returns the size of the largest buffer that a request may take. If each kind of buffer has its
/// own size, larger buffers are left to the kinds that need them.
std::size_t Activations::largest_for(std::size_t bytes) const {
  return is_exact_ ? bytes : std::numeric_limits<std::size_t>::max();
}

Buffer Activations::acquire(std::size_t bytes) {
  if (bytes == 0) return {};
  const auto found = pool_.lower_bound({bytes, nullptr});
  if (found != pool_.end() && found->second.bytes() <= largest_for(bytes))
    return std::move(pool_.extract(found).mapped());
  pool_bytes_ += bytes;
  return Buffer(device_, bytes);
}

void Activations::add_spare(std::size_t bytes) {
  Buffer buffer(device_, bytes);
  pool_bytes_ += bytes;
  release(std::move(buffer));
}

SimulatedPool Activations::simulated() const {
  std::vector<std::size_t> spare;
  for (const auto& [place, buffer] : pool_) spare.push_back(buffer.bytes());
  return {spare, [this](std::size_t bytes) { return largest_for(bytes); }};
}

void Activations::release(Buffer&& buffer) {
  if (!buffer.data()) return;
  const std::pair place(buffer.bytes(), buffer.data());
  pool_.emplace(place, std::move(buffer));
  buffer = Buffer();
}

void Activations::erase_if_empty(int unit, int micro_batch) {
  const auto entry = records_.find({unit, micro_batch});
  const Record& live = entry->second;
  if (!live.output.data() && !live.saved.data() && !live.backward_handoff.data() &&
      !live.output_gradient.data())
    records_.erase(entry);
}

}  // namespace dt::parallel
