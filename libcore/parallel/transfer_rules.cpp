#include "parallel/transfer_rules.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "parallel/channels.hpp"

namespace dt::parallel {

TransferRules::TransferRules(const Pipeline& pipeline, int rank) : pipeline_(pipeline), rank_(rank) {
  for (int unit = 0; unit < pipeline.num_units(); ++unit) holds_.push_back(pipeline.rank_of(unit) == rank);
}

void TransferRules::check_ends(const Action& action, bool sends) const {
  const bool is_tied = action.payload == Payload::tied_gradient || action.payload == Payload::tied_weights;
  const int last = pipeline_.last_unit();
  DT_CHECK(is_tied ? action.unit == last : action.unit >= 0 && action.unit < last,
           "{}: there is nothing of the kind", to_string(action));
  DT_CHECK(!is_tied || pipeline_.exchanges_tied(), "{} of a table with one holder", to_string(action));
  const bool goes_down = action.payload == Payload::activation || action.payload == Payload::tied_weights;
  const int upper = pipeline_.rank_of(is_tied ? 0 : action.unit);
  const int lower = pipeline_.rank_of(is_tied ? last : action.unit + 1);
  const int from = goes_down ? upper : lower, to = goes_down ? lower : upper;
  DT_CHECK(action.payload != Payload::none && from != to && rank_ == (sends ? from : to) &&
               action.peer == (sends ? to : from),
           "{} is not between these two", to_string(action));
}

bool TransferRules::send(const Action& action) {
  check_ends(action, true);
  return sent_.emplace(action.payload, action.unit, action.micro_batch).second;
}

bool TransferRules::receive(const Action& action) {
  check_ends(action, false);
  const Key key{action.payload, action.unit, action.micro_batch};
  if (!received_.insert(key).second) return false;
  unused_[key] = action.peer;
  const auto waiting = std::count_if(unused_.begin(), unused_.end(), [&](const auto& entry) {
    return std::get<0>(entry.first) == action.payload && entry.second == action.peer;
  });
  DT_CHECK(waiting <= static_cast<std::ptrdiff_t>(most_sends_under_way),
           "{} while {} before it wait to be used", to_string(action), most_sends_under_way);
  return true;
}

void TransferRules::use(const Action& action, Payload payload, int unit) {
  const Action missing{ActionKind::receive, unit, action.micro_batch, payload};
  DT_CHECK(received_.contains({payload, unit, action.micro_batch}), "{} comes before {}", to_string(action),
           to_string(missing));
  unused_.erase({payload, unit, action.micro_batch});
}

bool TransferRules::has_exchanged(Payload payload) const {
  const int last = pipeline_.last_unit();
  if (!pipeline_.exchanges_tied() || (!holds(0) && !holds(last))) return true;
  const bool sends = holds(0) == (payload == Payload::tied_weights);
  return (sends ? sent_ : received_).contains({payload, last, -1});
}

void TransferRules::check_control() const {
  DT_CHECK(has_exchanged(Payload::tied_gradient), "control comes before the tied table's gradients meet");
  for (const auto& [key, peer] : unused_) {
    const auto& [payload, unit, micro_batch] = key;
    DT_CHECK(payload == Payload::tied_gradient, "control comes before the use of {}",
             to_string({ActionKind::receive, unit, micro_batch, payload, peer}));
  }
}

void TransferRules::check_end() const {
  DT_CHECK(has_exchanged(Payload::tied_weights), "the list ends without the tied table's new weights");
}

}  // namespace dt::parallel
