#pragma once
// What one rank does in a step, as data. Builders emit such lists, the validator proves them, the executor
// runs them.

#include <string>
#include <vector>

namespace dt::parallel {

/// What each asks of the executor. A unit's input is its predecessor's output of the same micro-batch, and dy
/// the successor's dx: whichever action left it on this rank, a computation or a receive. A list asks for
/// nothing that is not in it.
enum class ActionKind {
  forward,          // of a unit, on a micro-batch; waits for its input where that is being received
  backward_input,   // gradient with respect to the unit's input; waits for dy where that is being received
  backward_weight,  // gradient with respect to its weights, added to the micro-batch's lane
  discard,          // what the forward saved for the backward
  recompute,        // what was discarded, by the unit's forward from its input
  gather,           // the unit's weights, of which each rank holds a part, are brought together
  free,             // the unit's gathered weights are not needed for now
  reduce,           // the sum of the unit's gradients over the ranks: of the step, or of a micro-batch
  send,             // starts to send the payload to the peer; see Payload
  receive,          // starts to receive it: takes the buffer, waits for nothing
  control,          // the decision point: what all ranks must agree on before the optimizer
  step,             // the optimizer
};

/// What travels between neighbouring stages. Each (sender, receiver, payload) is a communicator of its own,
/// whose k-th send meets its k-th receive, so that nothing overtakes or holds up anything else. A send starts
/// only when the last but one before it in its communicator is complete: at most two are under way, and hold
/// their buffers. Control waits for all of them.
enum class Payload {
  none,
  activation,     // the output of `unit`, to the rank of unit + 1, which keeps it until that unit's
                  // backward_input puts its gradient there; the sender needs it only until it is sent
  gradient,       // with respect to the output of `unit`, from the rank of unit + 1 to the rank of `unit`
  tied_gradient,  // of the tied table, as the last unit has summed it (over the ranks, replicas too: the send
                  // finishes its reduce), this rank's part of it, to the owner, where control's complete()
                  // adds it after the owner's own
  tied_weights,   // of the tied table, after the step: the owner's part, to the same part on the last unit's
};

struct Action {
  ActionKind kind;
  int unit = -1;         // of all but control and step
  int micro_batch = -1;  // of all that compute, of what is sent between stages, and of what is reduced of one
  Payload payload = Payload::none;
  int peer = -1;  // of send and receive: the other's place on the pipeline's axis
  bool operator==(const Action&) const = default;

  bool computes() const { return kind <= ActionKind::backward_weight || kind == ActionKind::recompute; }
  bool transfers() const { return kind == ActionKind::send || kind == ActionKind::receive; }
};

using ActionList = std::vector<Action>;

/// "backward_input"
const char* action_name(ActionKind kind);
/// "tied_weights"
const char* payload_name(Payload payload);
/// "forward(unit 3, micro-batch 0)"; "send(activation, unit 3, micro-batch 0, stage rank 1)"
std::string to_string(const Action& action);

}  // namespace dt::parallel
