#include "parallel/executor.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/host.hpp"

namespace dt::parallel {

using model::MicroBatch;
using model::Unit;

namespace {

/// Asked of the unit, not of its place: it need not be last in a list of units.
bool is_head(const Unit& unit) {
  return unit.spec().kind == model::UnitKind::head;
}

}  // namespace

Executor::Executor(const Context& context, const std::vector<std::unique_ptr<Unit>>& units,
                   ModelStorage& storage)
    : context_(context), units_(units), storage_(storage) {}

void Executor::prepare_pool(std::span<const MicroBatch> micro_batches) {
  std::int64_t tokens = 0;
  for (const MicroBatch& m : micro_batches) tokens = std::max(tokens, m.batch * m.sequence);
  if (tokens > pool_tokens_) {
    pool_.clear();
    pool_bytes_ = 0;
    pool_tokens_ = tokens;
  }
  is_exact_ = tokens == pool_tokens_;
}

Buffer Executor::take(std::size_t bytes) {
  // A larger one that another kind of buffer will need is not to be taken where each can have its own.
  const auto found = is_exact_ ? pool_.find(bytes) : pool_.lower_bound(bytes);
  if (found != pool_.end()) return std::move(pool_.extract(found).mapped());
  pool_bytes_ += bytes;
  return Buffer(context_.device(), bytes);
}

void Executor::give_back(Buffer&& buffer) {
  if (!buffer.data()) return;
  const std::size_t bytes = buffer.bytes();
  pool_.emplace(bytes, std::move(buffer));
  buffer = Buffer();
}

Executor::InFlight& Executor::in_flight(const Action& action) {
  return in_flight_[{action.unit, action.micro_batch}];
}

Tensor Executor::output(int unit, const MicroBatch& micro_batch, const Buffer& buffer) const {
  const Unit& u = *units_[static_cast<std::size_t>(unit)];
  return Tensor(buffer.data(), u.output_dtype(), u.output_shape(micro_batch.batch, micro_batch.sequence));
}

void Executor::run(const ActionList& list, std::span<const MicroBatch> micro_batches, int first,
                   const StepHooks& hooks) {
  const bool trains =
      std::any_of(list.begin(), list.end(), [](const Action& a) { return a.kind == ActionKind::reduce; });
  prepare_pool(micro_batches);
  if (trains) storage_.gradients().start_step();
  for (const Action& action : list) {
    const auto micro_batch = [&]() -> const MicroBatch& {
      return micro_batches[static_cast<std::size_t>(action.micro_batch - first)];
    };
    switch (action.kind) {
      case ActionKind::forward:
        forward(action, micro_batch(), trains, hooks);
        if (!trains) release_after_forward(action);
        break;
      case ActionKind::backward_input:
        backward_input(action, micro_batch());
        break;
      case ActionKind::backward_weight:
        backward_weight(action, micro_batch());
        break;
      case ActionKind::discard:
        give_back(std::move(in_flight(action).saved));
        break;
      case ActionKind::recompute:
        recompute(action, micro_batch());
        break;
      case ActionKind::gather:
        communicate([&] { storage_.weights().gather(action.unit); });
        break;
      case ActionKind::free:
        communicate([&] { storage_.weights().release(action.unit); });
        break;
      case ActionKind::reduce:
        communicate([&] { storage_.gradients().reduce(context_, action.unit); });
        break;
      case ActionKind::send:
      case ActionKind::receive:
        DT_CHECK(false, "{} by a rank that has no neighbours", to_string(action));
        break;
      case ActionKind::control:
        communicate([&] { storage_.gradients().complete(context_); });
        hooks.control();
        break;
      case ActionKind::step:
        communicate([&] { storage_.weights().finish_gathers(); });
        hooks.step();
        break;
    }
    if (!overlaps_) communicate([&] { finish(action); });
    poll();
  }
  communicate([&] { storage_.weights().finish_gathers(); });
  DT_CHECK(in_flight_.empty(), "{} units still hold activations after the step", in_flight_.size());
}

void Executor::poll() {
  communicate([&] { storage_.ranks().poll(); });
}

/// What an action only starts.
void Executor::finish(const Action& action) {
  if (action.kind == ActionKind::gather) storage_.weights().of_unit(action.unit);
  if (action.kind == ActionKind::reduce) storage_.gradients().finish_started(context_);
}

template <class Body>
void Executor::communicate(const Body& body) {
  const double started_s = monotonic_s();
  body();
  exposed_communication_s_ += monotonic_s() - started_s;
}

std::span<const Tensor> Executor::weights(int unit) {
  std::span<const Tensor> whole;
  communicate([&] { whole = storage_.weights().of_unit(unit); });
  return whole;
}

Tensor Executor::input(const Action& action, const MicroBatch& micro_batch) {
  if (action.unit == 0) return {};
  return output(action.unit - 1, micro_batch,
                in_flight({action.kind, action.unit - 1, action.micro_batch}).output);
}

void Executor::forward(const Action& action, const MicroBatch& micro_batch, bool trains,
                       const StepHooks& hooks) {
  const Unit& unit = *units_[static_cast<std::size_t>(action.unit)];
  const Tensor x = input(action, micro_batch);
  InFlight& mine = in_flight(action);
  mine.saved = take(unit.saved_bytes(micro_batch.batch, micro_batch.sequence));
  const Shape shape = unit.output_shape(micro_batch.batch, micro_batch.sequence);
  mine.output = take(static_cast<std::size_t>(shape.numel()) * dtype_bytes(unit.output_dtype()));
  const Tensor y = output(action.unit, micro_batch, mine.output);
  std::vector<Tensor> gradients;
  const bool has_gradients = trains && unit.has_gradients_in_forward();
  if (has_gradients) gradients = storage_.gradients().of_unit(context_, action.unit, action.micro_batch);
  unit.forward(context_, micro_batch, weights(action.unit), x, y, mine.saved.span(), gradients);
  if (has_gradients) storage_.gradients().finish_micro_batch(context_, action.unit, action.micro_batch);
  if (is_head(unit) && hooks.loss) hooks.loss(action.micro_batch, y);
}

void Executor::recompute(const Action& action, const MicroBatch& micro_batch) {
  const Unit& unit = *units_[static_cast<std::size_t>(action.unit)];
  InFlight& mine = in_flight(action);
  mine.saved = take(unit.saved_bytes(micro_batch.batch, micro_batch.sequence));
  unit.forward(context_, micro_batch, weights(action.unit), input(action, micro_batch), Tensor(),
               mine.saved.span());
}

void Executor::release_after_forward(const Action& action) {
  give_back(std::move(in_flight(action).saved));
  const auto release_output = [&](int unit) {
    give_back(std::move(in_flight({action.kind, unit, action.micro_batch}).output));
    forget_if_empty(unit, action.micro_batch);
  };
  if (action.unit > 0) release_output(action.unit - 1);
  if (is_head(*units_[static_cast<std::size_t>(action.unit)])) release_output(action.unit);
}

void Executor::backward_input(const Action& action, const MicroBatch& micro_batch) {
  const Unit& unit = *units_[static_cast<std::size_t>(action.unit)];
  InFlight& mine = in_flight(action);
  const Tensor dy = is_head(unit) ? Tensor() : output(action.unit, micro_batch, mine.output_gradient);
  mine.handover = take(unit.handover_bytes(micro_batch.batch, micro_batch.sequence));
  Tensor dx;
  if (action.unit > 0) {
    InFlight& previous = in_flight({action.kind, action.unit - 1, action.micro_batch});
    previous.output_gradient = take(previous.output.bytes());
    dx = output(action.unit - 1, micro_batch, previous.output_gradient);
  }
  const bool needs_weights = unit.spec().kind != model::UnitKind::embedding;
  unit.backward_input(context_, micro_batch, needs_weights ? weights(action.unit) : std::span<const Tensor>(),
                      input(action, micro_batch), dy, dx, mine.saved.span(), mine.handover.span());
}

void Executor::backward_weight(const Action& action, const MicroBatch& micro_batch) {
  const Unit& unit = *units_[static_cast<std::size_t>(action.unit)];
  InFlight& mine = in_flight(action);
  const Tensor dy = is_head(unit) ? Tensor() : output(action.unit, micro_batch, mine.output_gradient);
  if (!unit.has_gradients_in_forward()) {
    const std::vector<Tensor> gradients =
        storage_.gradients().of_unit(context_, action.unit, action.micro_batch);
    unit.backward_weight(context_, micro_batch, input(action, micro_batch), dy, gradients, mine.saved.span(),
                         mine.handover.span());
    storage_.gradients().finish_micro_batch(context_, action.unit, action.micro_batch);
  }

  // A unit's output is read last by its successor's backward_weight, which a schedule may put before or after
  // its own.
  give_back(std::move(mine.saved));
  give_back(std::move(mine.handover));
  give_back(std::move(mine.output_gradient));
  if (is_head(unit)) give_back(std::move(mine.output));
  forget_if_empty(action.unit, action.micro_batch);
  if (action.unit > 0) {
    give_back(std::move(in_flight({action.kind, action.unit - 1, action.micro_batch}).output));
    forget_if_empty(action.unit - 1, action.micro_batch);
  }
}

void Executor::forget_if_empty(int unit, int micro_batch) {
  const auto entry = in_flight_.find({unit, micro_batch});
  const InFlight& held = entry->second;
  if (!held.output.data() && !held.saved.data() && !held.handover.data() && !held.output_gradient.data())
    in_flight_.erase(entry);
}

}  // namespace dt::parallel
