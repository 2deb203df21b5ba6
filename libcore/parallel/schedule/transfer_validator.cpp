#include "parallel/schedule/transfer_validator.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "parallel/schedule/pipeline.hpp"

namespace dt::parallel {

TransferValidator::TransferValidator(const Pipeline& pipeline, int rank) : pipeline_(pipeline), rank_(rank) {
  for (int unit = 0; unit < pipeline.num_units(); ++unit) holds_.push_back(pipeline.rank_of(unit) == rank);
}

void TransferValidator::check_endpoints(const Action& action, bool sends) const {
  const bool is_tied = action.payload == Payload::tied_gradient || action.payload == Payload::tied_weights;
  const int last = pipeline_.last_unit();
  DT_CHECK(is_tied ? action.unit == last : action.unit >= 0 && action.unit < last,
           "{}: there is no such transfer", to_string(action));
  DT_CHECK(!is_tied || pipeline_.has_split_tied_table(), "{}: one rank holds the whole tied table",
           to_string(action));
  const bool goes_down = action.payload == Payload::activation || action.payload == Payload::tied_weights;
  const int upper = pipeline_.rank_of(is_tied ? 0 : action.unit);
  const int lower = pipeline_.rank_of(is_tied ? last : action.unit + 1);
  const int from = goes_down ? upper : lower, to = goes_down ? lower : upper;
  DT_CHECK(action.payload != Payload::none && from != to && rank_ == (sends ? from : to) &&
               action.peer == (sends ? to : from),
           "{}: these ranks do not make this transfer", to_string(action));
}

bool TransferValidator::send(const Action& action) {
  check_endpoints(action, true);
  return sent_.emplace(action.payload, action.unit, action.micro_batch).second;
}

bool TransferValidator::receive(const Action& action) {
  check_endpoints(action, false);
  const Key key{action.payload, action.unit, action.micro_batch};
  if (!received_.insert(key).second) return false;
  unused_[key] = action.peer;
  const auto waiting = std::count_if(unused_.begin(), unused_.end(), [&](const auto& entry) {
    return std::get<0>(entry.first) == action.payload && entry.second == action.peer;
  });
  DT_CHECK(waiting <= static_cast<std::ptrdiff_t>(max_sends_in_flight),
           "{}: {} earlier ones are still unused", to_string(action), max_sends_in_flight);
  return true;
}

void TransferValidator::record_use(const Action& action, Payload payload, int unit) {
  const Action missing{ActionKind::receive, unit, action.micro_batch, payload};
  DT_CHECK(received_.contains({payload, unit, action.micro_batch}), "{} comes before {}", to_string(action),
           to_string(missing));
  unused_.erase({payload, unit, action.micro_batch});
}

bool TransferValidator::has_exchanged(Payload payload) const {
  const int last = pipeline_.last_unit();
  if (!pipeline_.has_split_tied_table() || (!holds(0) && !holds(last))) return true;
  const bool sends = holds(0) == (payload == Payload::tied_weights);
  return (sends ? sent_ : received_).contains({payload, last, -1});
}

void TransferValidator::check_control() const {
  DT_CHECK(has_exchanged(Payload::tied_gradient), "control comes before the tied table's gradients meet");
  for (const auto& [key, peer] : unused_) {
    const auto& [payload, unit, micro_batch] = key;
    DT_CHECK(payload == Payload::tied_gradient, "control comes before the use of {}",
             to_string({ActionKind::receive, unit, micro_batch, payload, peer}));
  }
}

void TransferValidator::check_end() const {
  DT_CHECK(has_exchanged(Payload::tied_weights), "the list ends without the tied table's new weights");
}

}  // namespace dt::parallel
