#pragma once
// Describes what one rank does in a step, as data. Builders emit lists of actions, the validator
// proves them, and the executor runs them.

#include <string>
#include <vector>

namespace dt::parallel {

/// The kinds of actions that a list asks of the executor. A unit's input is its predecessor's output
/// of the same micro-batch, and dy is the successor's dx. A computation or a receive has left either
/// on this rank. A list asks for nothing that is not in it.
enum class ActionKind {
  forward,          // a unit's forward pass on a micro-batch; waits for its input if that is being received
  backward_input,   // gradient with respect to the unit's input; waits for dy if that is being received
  backward_weight,  // gradient with respect to its weights, added to the micro-batch's lane
  discard,          // drops what the forward saved for the backward
  recompute,        // makes again what was discarded, by the unit's forward from its input
  gather,           // brings together the unit's weights, of which each rank holds a part
  free,             // frees the unit's gathered weights, which are not needed for now
  reduce,           // sums the unit's gradients over the ranks: the step's, or a micro-batch's
  send,             // starts to send the payload to the peer; see Payload
  receive,          // starts to receive the payload: takes the buffer, waits for nothing
  control,          // the decision point: what all ranks must agree on before the optimizer
  step,             // the optimizer
};

/// The payloads that travel between neighbouring stages. Each (sender, receiver, payload) is a
/// communicator of its own, whose k-th send meets its k-th receive, so that no transfer overtakes or
/// holds up any other. A send starts only when the last but one before it in its communicator is
/// complete. So at most two are under way, and hold their buffers. Control waits for all of them.
enum class Payload {
  none,
  activation,  // the output of `unit`, to the rank of unit + 1, which keeps it until that unit's
               // backward_input puts its gradient there; the sender needs it only until it is sent
  gradient,  // gradient with respect to the output of `unit`, from the rank of unit + 1 to the rank of `unit`
  tied_gradient,  // the tied table's, as the last unit has summed it (over the ranks, replicas too: the send
                  // finishes its reduce), this rank's part of it, to the owner, where control's complete()
                  // adds it after the owner's own
  tied_weights,   // the tied table's, after the step: the owner's part, to the same part on the last unit's
                  // rank
};

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

/// Returns "backward_input".
const char* action_name(ActionKind kind);
/// Returns "tied_weights".
const char* payload_name(Payload payload);
/// Returns "forward(unit 3, micro-batch 0)" or "send(activation, unit 3, micro-batch 0, stage rank
/// 1)".
std::string to_string(const Action& action);

}  // namespace dt::parallel
