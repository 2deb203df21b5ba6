#include "comm/engine.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/system/host.hpp"
#include "tensor/device/device_timeout.hpp"

namespace dt::comm {

namespace {

int tag_of(const Operation& operation, const Operation::Running& running) {
  return operation.tag | static_cast<int>(running.number % ActiveTransports::num_chain_tags);
}

bool may_go_on(const Operation::Running& running) {
  return running.pending == 0 && (!running.current.ready || running.current.ready());
}

bool has_ended(const StreamOperation& operation) noexcept {
  try {
    return operation.end->is_complete();
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

Engine::Engine(std::shared_ptr<Recorder> recorder) : recorder_(std::move(recorder)), streams_(recorder_) {
  DT_CHECK(recorder_ != nullptr, "an engine needs a recorder");
}

Engine::~Engine() {
  while (!operations_.empty()) cancel(*operations_.front());
}

void Engine::set_timeout(double seconds) {
  const Lock lock(mutex_);
  timeout_s_ = seconds;
}

bool Engine::idle() const {
  return active_.is_empty();
}

void Engine::start(std::shared_ptr<Operation> operation) {
  const Lock lock(mutex_);
  throw_if_ended();
  operation->started_s = monotonic_s();
  operation->deadline_s = timeout_s_ > 0 ? operation->started_s + timeout_s_ : 0;
  active_.add(*operation);
  operations_.push_back(operation);
  guarded([&] {
    advance(*operation);
    if (operation->is_done()) operations_.remove(operation);
  });
}

void Engine::progress() {
  if (active_.is_empty() && streams_.is_idle()) return;
  const Lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  throw_if_ended();
  guarded([&] { advance_all(); });
}

void Engine::start(DeviceTransport& transport, Stream stream,
                   const std::shared_ptr<StreamOperation>& operation, const std::function<void()>& enqueue) {
  const Lock lock(mutex_);
  throw_if_ended();
  guarded([&] {
    try {
      enqueue();
    } catch (const Error& error) {
      throw Error(error.kind(),
                  fmt::format("{}, step {}: {}", operation->text, recorder_->snapshot().step, error.what()),
                  error.context());
    }
    operation->end = accelerator().record_event(stream);
  });
  operation->started_s = monotonic_s();
  operation->deadline_s = timeout_s_ > 0 ? operation->started_s + timeout_s_ : 0;
  streams_.add(transport, operation);
}

void Engine::detach(DeviceTransport& transport) noexcept {
  const Lock lock(mutex_);
  if (std::uncaught_exceptions() > 0 && streams_.has(transport)) streams_.abort();
  streams_.leave(transport);
}

void Engine::wait(const StreamOperation& operation) {
  poll_until([&] {
    if (operation.is_done) return true;
    const Lock lock(mutex_);
    throw_if_ended();
    guarded([&] {
      operation.control->progress();
      advance_all();
    });
    return operation.is_done.load();
  });
}

void Engine::cancel_unwaited(const StreamOperation& operation) noexcept {
  const Lock lock(mutex_);
  if (operation.is_done || operation.is_followed || ended_ || has_ended(operation)) return;
  const bool has_failed = std::uncaught_exceptions() > 0;
  end(has_failed ? Error(ErrorKind::environment, "this rank has stopped communicating",
                         operation.text + " was cancelled before it completed")
                 : Error(ErrorKind::internal, "no code waited for " + operation.text));
}

void Engine::check_alive() const {
  const Lock lock(mutex_);
  throw_if_ended();
}

void Engine::wait_until_computed(const Operation& operation) {
  if (!operation.device) return;
  const double started_s = monotonic_s();
  poll_until([&] {
    progress();
    return operation.device->is_computed();
  });
  waited_for_device_s_ += monotonic_s() - started_s;
}

double Engine::waited_for_device_s() const {
  return waited_for_device_s_;
}

void Engine::wait(Operation& operation) {
  wait_until_computed(operation);
  double in_vain_since_s = 0;
  while (!operation.is_done()) {
    Lock lock(mutex_);
    throw_if_ended();
    DT_CHECK(operation.state != Operation::State::given_up, "{} was cancelled", to_string(operation));
    bool moved = false;
    guarded([&] { moved = advance_all(); });
    if (operation.is_done()) return;
    const double now_s = monotonic_s();
    if (operation.deadline_s > 0 && now_s > operation.deadline_s) throw_late(operation, now_s);
    if (moved || in_vain_since_s == 0) {
      in_vain_since_s = now_s;
    } else if (active_.some_wait_for_a_device()) {
      lock.unlock();
      poll_backoff(now_s - in_vain_since_s);  // no transport knows of the device
    } else {
      lock.unlock();
      operation.transport->idle(now_s - in_vain_since_s);
    }
  }
}

void Engine::wait_for_device(Operation& operation) {
  poll_until([&] {
    progress();
    return operation.device->is_finished();
  });
}

std::shared_ptr<DeviceLink> Engine::device_link() const {
  const Lock lock(mutex_);
  return device_link_;
}

void Engine::set_device_link(std::shared_ptr<DeviceLink> link) {
  const Lock lock(mutex_);
  device_link_ = std::move(link);
}

void Engine::throw_if_ended() const {
  if (ended_) throw Error(*ended_);
}

void Engine::throw_late(Operation& operation, double now_s) {
  const Error error(ErrorKind::environment,
                    fmt::format("{}, step {}, did not complete within {:.1f} s", to_string(operation),
                                recorder_->snapshot().step, now_s - operation.started_s),
                    "a rank has not entered it or has died, or the network is stalled");
  // Unwinding frees the buffers, so the operation must end first.
  cancel(operation);
  throw error;
}

template <class Body>
void Engine::guarded(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    end(error);
    throw;
  } catch (const std::bad_alloc&) {
    end(Error(ErrorKind::environment, "out of memory during a communication"));
    throw_if_ended();
  } catch (const std::exception& error) {
    end(Error(ErrorKind::internal, error.what()));
    throw;
  }
}

void Engine::end(const Error& reason) noexcept {
  if (!ended_) ended_.emplace(reason);
  streams_.abort();
  while (!operations_.empty()) cancel(*operations_.front());
}

void Engine::cancel(Operation& operation) noexcept {
  const Lock lock(mutex_);
  const auto place = std::find_if(
      operations_.begin(), operations_.end(),
      [&](const std::shared_ptr<Operation>& candidate) { return candidate.get() == &operation; });
  if (place == operations_.end()) return;
  const std::shared_ptr<Operation> kept = std::move(*place);
  operations_.erase(place);
  bool is_withdrawn = true;
  for (Operation::Running& running : kept->running) {
    is_withdrawn = kept->transport->withdraw(running.pending) && is_withdrawn;
  }
  if (kept->device) kept->device->stop();
  active_.remove(*kept);
  kept->state = Operation::State::given_up;
  if (is_withdrawn) {
    kept->running.clear();
    kept->make_sequence = nullptr;
    return;
  }
  // A transport may still write into the staging memory, so that is never freed. No call advances that
  // transport again, since the caller's buffers may be gone.
  static_cast<void>(new std::shared_ptr<Operation>(kept));
  if (!ended_) {
    end(Error(ErrorKind::environment, "this rank has stopped communicating",
              fmt::format("{} was cancelled before it completed", to_string(*kept))));
  }
}

void Engine::cancel_unwaited(Operation& operation) noexcept {
  const Lock lock(mutex_);
  if (operation.state != Operation::State::under_way) return;
  if (std::uncaught_exceptions() > 0) return cancel(operation);
  end(Error(ErrorKind::internal, fmt::format("no code waited for {}", to_string(operation))));
}

void Engine::detach(const Transport& transport) noexcept {
  const Lock lock(mutex_);
  const auto is_of_transport = [&](const std::shared_ptr<Operation>& operation) {
    return operation->transport == &transport;
  };
  for (;;) {
    const auto place = std::find_if(operations_.begin(), operations_.end(), is_of_transport);
    if (place == operations_.end()) return;
    cancel(**place);
  }
}

bool Engine::advance_all() {
  if (!streams_.is_idle()) streams_.poll();
  active_.progress();
  bool moved = false;
  for (auto place = operations_.begin(); place != operations_.end();) {
    const std::shared_ptr<Operation> operation = *place;
    moved = advance(*operation) || moved;
    place = operation->is_done() ? operations_.erase(place) : std::next(place);
  }
  return moved;
}

bool Engine::advance(Operation& operation) {
  if (!active_.begin(operation)) return false;
  bool moved = false;
  do {
    begin_sequences(operation);
    for (auto place = operation.running.begin(); place != operation.running.end();) {
      if (may_go_on(*place)) {
        moved = true;
        if (!advance(operation, *place)) {
          place = operation.running.erase(place);
          active_.end_sequence(operation);
          continue;
        }
      }
      ++place;
    }
  } while (active_.may_begin_sequence(operation));
  if (operation.running.empty() && operation.next_sequence == operation.num_sequences) {
    if (operation.device) operation.device->finish();
    active_.remove(operation);
    if (operation.ends_ticket()) recorder_->finish(operation.ticket);
    operation.make_sequence = nullptr;
    operation.state = Operation::State::done;
  }
  return moved;
}

/// Only makes the sequences. Their first rounds begin like any other, once nothing is pending.
void Engine::begin_sequences(Operation& operation) {
  while (active_.may_begin_sequence(operation)) {
    Operation::Running& running = operation.running.emplace_back();
    running.number = active_.begin_sequence(operation);
    running.rounds = operation.make_sequence(running.number);
  }
}

/// Advances a sequence. Returns false when the sequence has ended.
bool Engine::advance(Operation& operation, Operation::Running& running) {
  while (may_go_on(running)) {
    if (running.current.then) running.current.then();
    if (!begin_round(operation, running)) return false;
  }
  return true;
}

bool Engine::begin_round(Operation& operation, Operation::Running& running) {
  running.current.transfers.clear();
  running.current.meanwhile = nullptr;
  running.current.ready = nullptr;
  running.current.then = nullptr;
  if (!running.rounds(running.next_round++, running.current)) return false;
  const int tag = tag_of(operation, running);
  for (const Round::Transfer& transfer : running.current.transfers) {
    if (transfer.is_send) {
      recorder_->count_message(transfer.bytes.size());
      operation.transport->send(transfer.peer, tag, transfer.bytes, running.pending);
    } else {
      operation.transport->receive(transfer.peer, tag, transfer.bytes, running.pending);
    }
  }
  if (running.current.meanwhile) running.current.meanwhile();
  return true;
}

}  // namespace dt::comm
