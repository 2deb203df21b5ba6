#include "parallel/engine/executor.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "tensor/buffer.hpp"

namespace dt::parallel {

using model::MicroBatch;
using model::Unit;

namespace {

/// Returns whether a backward_input's weight half follows it, with nothing but frees between them.
bool has_both_halves(const ActionList& list, std::size_t i) {
  const Action& a = list[i];
  while (++i < list.size() && list[i].kind == ActionKind::free) continue;
  return i < list.size() && list[i] == Action{ActionKind::backward_weight, a.unit, a.micro_batch};
}

}  // namespace

Transfers::Transfers(const Context& context, const Groups& ranks, int rank,
                     std::function<void(Buffer&&)> release)
    : context_(context), ranks_(ranks), rank_(rank), release_(std::move(release)) {}

/// Returns the communicator of the two ranks, which are in the order of their places.
comm::Communicator& Transfers::channel(const Action& transfer) const {
  return ranks_.channel(channel_of(transfer, rank_));
}

void Transfers::wait_oldest(std::deque<SendInFlight>& sent) {
  sent.front().work.wait(context_);
  release_(std::move(sent.front().buffer));
  sent.pop_front();
}

void Transfers::send(const Action& send, const Tensor& data, Buffer&& buffer) {
  std::deque<SendInFlight>& sent = sent_[channel_of(send, rank_)];
  if (sent.size() == max_sends_in_flight) wait_oldest(sent);
  comm::Communicator& to = channel(send);
  sent.push_back({std::move(buffer), to.send(1 - to.rank(), data)});
}

comm::Work Transfers::receive(const Action& receive, const Tensor& data) {
  comm::Communicator& from = channel(receive);
  return received_[channel_of(receive, rank_)] = from.receive(1 - from.rank(), data);
}

void Transfers::finish() {
  for (auto& [channel, sent] : sent_) {
    while (!sent.empty()) wait_oldest(sent);
  }
  for (auto& [channel, work] : received_) work.wait(context_);
  received_.clear();
}

std::int64_t recorded_bytes(comm::Communicator& group) {
  const comm::Recorder& recorder = group.engine().recorder();
  return recorder.bytes(comm::OperationKind::all_gather) +
         recorder.bytes(comm::OperationKind::reduce_scatter) +
         recorder.bytes(comm::OperationKind::all_reduce) + recorder.bytes(comm::OperationKind::send);
}

Executor::Executor(const Context& context, const std::vector<std::unique_ptr<Unit>>& units,
                   ModelStorage& storage, const CommTensorParallelOps* ops)
    : context_(context),
      storage_(storage),
      tensor_parallel_ops_(ops),
      activations_(context.device(), units),
      transfers_(context, storage.ranks(), storage.local().place().pp,
                 [this](Buffer&& sent) { activations_.release(std::move(sent)); }),
      unit_times_(units.size()) {
  if (context.device() == Device::host())
    add_observer(unit_times_);  // on other devices the host only enqueues
  else if (accelerator().profiler_attached())
    add_observer(named_ranges_);
}

bool Executor::trains(const ActionList& list) {
  return std::any_of(list.begin(), list.end(), [](const Action& a) { return a.kind == ActionKind::reduce; });
}

bool Executor::is_head(const Unit& unit) {
  return unit.spec().kind == model::UnitKind::head;
}

/// If receives wait in streams, no memory is freed inside the list: see DeferredFree. At the
/// list's end, every receive comes before the end of the work that the context was given. The
/// sender's list has the send before its own end, and that send needs nothing of the next list. So
/// a wait for the receives is a wait for other ranks' current lists alone.
void Executor::run(const ActionList& list, std::span<const MicroBatch> micro_batches, int first,
                   const StepHooks& hooks) {
  prepare(list, micro_batches, first);
  std::optional<DeferredFree> retired;
  if (receives_block_streams()) retired.emplace();
  trains_ = trains(list);
  if (trains_) storage_.gradients().start_step(context_);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Action& action = list[i];
    both_halves_ = splits_layers() && action.kind == ActionKind::backward_input && has_both_halves(list, i);
    perform_observed(action, hooks);
    if (!overlaps_) finish(action);
    poll();
  }
  communicate([&] {
    storage_.weights().finish_gathers(context_);
    transfers_.finish();
  });
  context_.flush();
  if (retired && retired->bytes() > 0) {
    context_.synchronize();
    retired->free();
  }
  DT_CHECK(activations_.num_records() == 0, "{} units still hold activations after the step",
           activations_.num_records());
}

void Executor::perform_observed(const Action& action, const StepHooks& hooks) {
  if (!trains_ || observers_.empty()) return perform(action, hooks);
  for (StepObserver* const observer : observers_) observer->on_action_begin(action);
  const double started_s = monotonic_s(), exposed_before_s = storage_.ranks().exposed_time().sum_s();
  perform(action, hooks);
  const ActionTimes times{started_s, monotonic_s(),
                          storage_.ranks().exposed_time().sum_s() - exposed_before_s};
  for (StepObserver* const observer : observers_) observer->on_action_end(action, times);
}

void Executor::perform(const Action& action, const StepHooks& hooks) {
  switch (action.kind) {
    case ActionKind::forward:
      return forward(action, hooks);
    case ActionKind::backward_input:
      return backward_input(action);
    case ActionKind::backward_weight:
      return backward_weight(action);
    case ActionKind::discard:
      return activations_.release(std::move(activations_.record_of(action).saved));
    case ActionKind::recompute:
      return recompute(action);
    case ActionKind::gather:
      return communicate([&] { storage_.weights().gather(action.unit); });
    case ActionKind::free:
      return communicate([&] { storage_.weights().release(context_, action.unit); });
    case ActionKind::reduce:
      return storage_.gradients().reduce(context_, action.unit);
    case ActionKind::send:
      return send(action);
    case ActionKind::receive:
      return communicate([&] { receive(action); });
    case ActionKind::control:
      communicate([&] { transfers_.finish(); });
      storage_.gradients().complete(context_);
      return hooks.control();
    case ActionKind::step:
      communicate([&] { storage_.weights().finish_gathers(context_); });
      return hooks.step();
  }
}

/// Polls in a wait for the device do not count as communication: they take nothing from computing.
void Executor::poll() {
  if (context_.is_waiting()) return storage_.ranks().poll();
  communicate([&] { storage_.ranks().poll(); });
}

/// Finishes what an action only starts.
void Executor::finish(const Action& action) {
  if (action.kind == ActionKind::gather)
    communicate([&] { storage_.weights().unit_weights(context_, action.unit); });
  if (action.kind == ActionKind::reduce) storage_.gradients().wait_reductions(context_);
}

template <class Body>
void Executor::communicate(const Body& body) {
  storage_.ranks().exposed_time().measure(body);
}

std::span<const Tensor> Executor::weights(int unit) {
  std::span<const Tensor> whole;
  communicate([&] { whole = storage_.weights().unit_weights(context_, unit); });
  return whole;
}

Tensor Executor::input(const Action& action) {
  if (action.unit == 0) return {};
  communicate(
      [&] { activations_.record_of(action.unit - 1, action.micro_batch).output_receive.wait(context_); });
  return activations_.output(action.unit - 1, action);
}

Tensor Executor::output_gradient(const Action& action) {
  if (is_head(activations_.unit(action.unit))) return {};
  communicate([&] { activations_.record_of(action).gradient_receive.wait(context_); });
  return activations_.output_gradient(action.unit, action);
}

void Executor::forward(const Action& action, const StepHooks& hooks) {
  const Unit& unit = activations_.unit(action.unit);
  MicroBatch micro_batch = activations_.micro_batch(action);
  const Arena::Scope scope(context_.scratch());
  if (trains_ && hooks.auxiliary) micro_batch.auxiliary_AR = auxiliary_terms(unit, micro_batch);
  if (trains_ && hooks.max_scores && unit.spec().kind == model::UnitKind::block)
    micro_batch.max_scores_H = hooks.max_scores(action.unit);
  const Tensor x = input(action);
  Activations::Record& mine = activations_.record_of(action);
  mine.saved = activations_.acquire(unit.saved_bytes(micro_batch.batch, micro_batch.sequence));
  const Tensor y = activations_.acquire_output(action.unit, action);
  const auto run = [&](std::span<const Tensor> gradients) {
    unit.forward(context_, micro_batch, weights(action.unit), x, y, mine.saved.span(), gradients);
  };
  if (trains_ && unit.has_gradients_in_forward())
    with_gradients(action, run);
  else
    run({});
  if (is_head(unit) && hooks.loss) hooks.loss(action.micro_batch, y);
  if (micro_batch.auxiliary_AR) hooks.auxiliary(action.unit, action.micro_batch, micro_batch.auxiliary_AR);
  if (hooks.output) hooks.output(action.unit, action.micro_batch, y);
  if (!trains_) release_after_forward(action);
}

/// Takes scratch memory for the terms of a unit's auxiliary losses; absent if it has none.
Tensor Executor::auxiliary_terms(const Unit& unit, const MicroBatch& micro_batch) {
  const auto losses = static_cast<std::int64_t>(unit.auxiliary_losses().size());
  if (losses == 0) return {};
  return context_.scratch().allocate(DType::f64, {losses, micro_batch.batch * micro_batch.sequence});
}

void Executor::recompute(const Action& action) {
  const Unit& unit = activations_.unit(action.unit);
  const MicroBatch& micro_batch = activations_.micro_batch(action);
  Activations::Record& mine = activations_.record_of(action);
  mine.saved = activations_.acquire(unit.saved_bytes(micro_batch.batch, micro_batch.sequence));
  unit.forward(context_, micro_batch, weights(action.unit), input(action), Tensor(), mine.saved.span());
}

void Executor::release_output(int unit, int micro_batch) {
  activations_.release(std::move(activations_.record_of(unit, micro_batch).output));
  activations_.erase_if_empty(unit, micro_batch);
}

/// Releases a unit's saved memory and input, and the head's output, if there is no backward.
void Executor::release_after_forward(const Action& action) {
  activations_.release(std::move(activations_.record_of(action).saved));
  if (action.unit > 0) release_output(action.unit - 1, action.micro_batch);
  if (is_head(activations_.unit(action.unit))) release_output(action.unit, action.micro_batch);
}

void Executor::backward_input(const Action& action) {
  const Unit& unit = activations_.unit(action.unit);
  const MicroBatch& micro_batch = activations_.micro_batch(action);
  const Tensor x = input(action), dy = output_gradient(action);
  Activations::Record& mine = activations_.record_of(action);
  mine.backward_handoff = activations_.acquire(
      unit.backward_handoff_bytes(context_.device(), micro_batch.batch, micro_batch.sequence));
  const Tensor dx =
      action.unit > 0 ? activations_.reuse_output_for_gradient(action.unit - 1, action) : Tensor();
  const bool needs_weights = unit.spec().kind != model::UnitKind::embedding;
  const auto w = needs_weights ? weights(action.unit) : std::span<const Tensor>();
  if (both_halves_ && !unit.has_gradients_in_forward()) {
    mine.is_backward_weight_done = true;
    with_gradients(action, [&](std::span<const Tensor> gradients) {
      unit.backward(context_, micro_batch, w, x, dy, dx, gradients, mine.saved.span(),
                    mine.backward_handoff.span());
    });
  } else {
    unit.backward_input(context_, micro_batch, w, x, dy, dx, mine.saved.span(), mine.backward_handoff.span());
  }
  if (unit.has_gradients_in_forward()) activations_.release(std::move(mine.saved));
}

void Executor::backward_weight(const Action& action) {
  const Unit& unit = activations_.unit(action.unit);
  Activations::Record& mine = activations_.record_of(action);
  if (!unit.has_gradients_in_forward() && !mine.is_backward_weight_done) {
    with_gradients(action, [&](std::span<const Tensor> gradients) {
      unit.backward_weight(context_, activations_.micro_batch(action), output_gradient(action), gradients,
                           mine.saved.span(), mine.backward_handoff.span());
    });
  }
  mine.is_backward_weight_done = false;

  for (Buffer* const buffer : {&mine.saved, &mine.backward_handoff, &mine.output_gradient})
    activations_.release(std::move(*buffer));
  if (is_head(unit)) activations_.release(std::move(mine.output));
  activations_.erase_if_empty(action.unit, action.micro_batch);
}

/// Calls `body` with the tensors to which a micro-batch's gradients of its unit are added. Waits
/// until there is room for them.
template <class Body>
void Executor::with_gradients(const Action& action, const Body& body) {
  body(storage_.gradients().unit_gradients(context_, action.unit, action.micro_batch));
  storage_.gradients().finish_micro_batch(context_, action.unit, action.micro_batch);
}

/// Starts a send. The buffer of an activation or gradient goes to the transfer: this rank no longer
/// uses it.
void Executor::send(const Action& action) {
  const int tied = storage_.local().tied_group();
  switch (action.payload) {
    case Payload::tied_gradient:
      return start_send(action, storage_.gradients().finish_tied(context_));
    case Payload::tied_weights:
      return start_send(action, storage_.weights().shard(tied));
    default:
      break;
  }
  const bool goes_forth = action.payload == Payload::activation;
  const Tensor data = goes_forth ? activations_.output(action.unit, action)
                                 : activations_.output_gradient(action.unit, action);
  Activations::Record& record = activations_.record_of(action);
  start_send(action, data, std::move(goes_forth ? record.output : record.output_gradient));
  activations_.erase_if_empty(action.unit, action.micro_batch);
}

void Executor::start_send(const Action& action, const Tensor& data, Buffer&& buffer) {
  communicate([&] { transfers_.send(action, data, std::move(buffer)); });
}

void Executor::receive(const Action& action) {
  switch (action.payload) {
    case Payload::tied_gradient:
      transfers_.receive(action, storage_.gradients().remote_tied_gradient());
      return;
    case Payload::tied_weights:
      transfers_.receive(action, storage_.weights().shard(storage_.local().tied_group()));
      return;
    case Payload::activation:
      activations_.record_of(action).output_receive =
          transfers_.receive(action, activations_.acquire_output(action.unit, action));
      return;
    default:
      activations_.record_of(action).gradient_receive =
          transfers_.receive(action, activations_.acquire_output_gradient(action.unit, action));
  }
}

}  // namespace dt::parallel
