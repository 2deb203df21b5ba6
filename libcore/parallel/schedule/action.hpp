#pragma once
// Describes what one rank does in a step, as data. Builders emit lists of actions, the validator
// proves them, and the executor runs them.

#include <array>
#include <string>
#include <vector>

#include "base/text/enum_names.hpp"

namespace dt::parallel {

/// The kinds of actions that a list asks of the executor. A unit's input is its predecessor's
/// output of the same micro-batch, and dy is the successor's dx. An earlier computation or receive
/// of the list has left both on this rank. The executor does nothing that the list does not ask
/// for.
enum class ActionKind {
  forward,          // a unit's forward pass on a micro-batch; waits for its input if that is being received
  backward_input,   // gradient with respect to the unit's input; waits for dy if that is being received
  backward_weight,  // gradient with respect to its weights, added to the micro-batch's lane
  discard,          // drops what the forward saved for the backward
  recompute,        // recomputes what was discarded, by the unit's forward from its input
  gather,           // all-gathers the unit's weights, of which each rank holds a shard
  free,             // frees the unit's gathered weights, which are not needed for now
  reduce,           // sums the unit's gradients over the ranks: the step's, or a micro-batch's
  send,             // starts to send the payload to the peer; see Payload
  receive,          // starts to receive the payload: takes the buffer, waits for nothing
  control,          // the decision point: what all ranks must agree on before the optimizer
  step,             // the optimizer
};
/// The names in lists, drawings, traces and messages.
constexpr auto enum_names(ActionKind) {
  using enum ActionKind;
  return std::to_array<EnumName<ActionKind>>({{"forward", forward},
                                              {"backward_input", backward_input},
                                              {"backward_weight", backward_weight},
                                              {"discard", discard},
                                              {"recompute", recompute},
                                              {"gather", gather},
                                              {"free", free},
                                              {"reduce", reduce},
                                              {"send", send},
                                              {"receive", receive},
                                              {"control", control},
                                              {"step", step}});
}

/// The payloads that travel between neighbouring stages. Each (sender, receiver, payload) is a
/// communicator of its own, whose k-th send meets its k-th receive, so that no transfer overtakes
/// or holds up any other. A send starts only when the second send before it in its communicator is
/// complete. So at most two sends are in flight and hold their buffers. Control waits for all of
/// them.
enum class Payload {
  none,
  /// The output of `unit`, to the rank of unit + 1. The receiver keeps it until backward_input of unit + 1
  /// overwrites it with its gradient. The sender needs it only until it is sent.
  activation,
  /// The gradient with respect to the output of `unit`, from the rank of unit + 1 to the rank of `unit`.
  gradient,
  /// The tied table's gradient, from the last unit's rank to the owner: the sender's shard of it, summed over
  /// the ranks and their replicas (the send finishes its reduce). On the owner, control's complete() adds it
  /// after the owner's own.
  tied_gradient,
  /// The tied table's weights after the step: the owner's shard, to the same shard on the last unit's rank.
  tied_weights,
};
constexpr auto enum_names(Payload) {
  using enum Payload;
  return std::to_array<EnumName<Payload>>({{"none", none},
                                           {"activation", activation},
                                           {"gradient", gradient},
                                           {"tied_gradient", tied_gradient},
                                           {"tied_weights", tied_weights}});
}

struct Action {
  ActionKind kind;
  int unit = -1;         // for all but control and step
  int micro_batch = -1;  // for computations, transfers between stages, and reduces of one micro-batch
  Payload payload = Payload::none;
  int peer = -1;  // for send and receive: the peer's place on the pipeline's axis
  bool operator==(const Action&) const = default;

  bool computes() const { return kind <= ActionKind::backward_weight || kind == ActionKind::recompute; }
  bool transfers() const { return kind == ActionKind::send || kind == ActionKind::receive; }
};

using ActionList = std::vector<Action>;

/// Returns "forward(unit 3, micro-batch 0)" or
/// "send(activation, unit 3, micro-batch 0, stage rank 1)".
std::string to_string(const Action& action);

}  // namespace dt::parallel
