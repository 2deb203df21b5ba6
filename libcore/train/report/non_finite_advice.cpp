#include "train/report/non_finite_advice.hpp"

#include <fmt/format.h>

namespace dt::train {

namespace {

/// Returns the advice to restart from older weights, with a learning rate that avoids the same
/// divergence.
std::string advise_older_checkpoint(const TrainingStanding& s) {
  const std::string lower = fmt::format("a lower --lr (it was {}) or longer --warmup-steps", s.lr);
  if (s.older_is_local)
    return fmt::format("start again with --resume auto and {}: it goes on from {}", lower, s.older);
  const bool is_outside = s.older.empty() && !s.foreign_checkpoint.empty() && s.step > s.first_step;
  const std::string& from = is_outside ? s.foreign_checkpoint : s.older;
  if (from.empty()) return fmt::format("nothing older is left: begin anew with --resume never and {}", lower);
  return fmt::format("start again with --resume {} and {}", from, lower);
}

std::string wider_precision(const TrainingStanding& s) {
  return has_narrow_range(s.precision) ? "--precision bf16 or fp32" : "--precision fp32";
}

/// Returns the advice on when the same weights would do. They would with a type of wider range
/// (bf16 has that of fp32), or with the settings that made them.
std::string advise_same_weights(const TrainingStanding& s) {
  if (s.step == s.first_step && !s.checkpoint.empty() && !s.is_local)
    return fmt::format(
        "; where another --precision or other --data made these weights, --resume {} with those",
        s.checkpoint);
  if (!has_narrow_range(s.precision) || s.checkpoint.empty() || s.is_local) return {};
  return fmt::format("; where {}'s range alone is exceeded, --resume {} with {}", precision_name(s.precision),
                     s.checkpoint, wider_precision(s));
}

}  // namespace

std::string advise_on_weights(const TrainingStanding& s) {
  if (s.step == 0) {
    const std::string whose = s.init_from.empty() ? "the initial weights" : "the weights of " + s.init_from;
    return fmt::format("{} give it before any step: nothing is saved; {}", whose,
                       s.precision != DType::f32 ? "try " + wider_precision(s)
                       : s.init_from.empty()     ? "change --model or the data"
                                                 : "give other weights with --init-from");
  }
  std::string text =
      s.checkpoint.empty()
          ? fmt::format("the weights of step {} are not saved", s.step)
          : fmt::format("{} is marked, and no start goes on from it of its own accord", s.checkpoint);
  return text + "; " + advise_older_checkpoint(s) + advise_same_weights(s);
}

std::string advise_on_gradients(const TrainingStanding& s) {
  const std::string kept = s.checkpoint.empty()
                               ? std::string("nothing is saved")
                               : fmt::format("the weights of step {} are kept in {}", s.step, s.checkpoint);
  if (s.fixed_loss_scale)
    return fmt::format("{}; lower --loss-scale, which is {}", kept, *s.fixed_loss_scale);
  if (s.step == 0) {
    return fmt::format(
        "{}; {}", kept,
        s.precision == DType::f32 ? "give other weights or data" : "try " + wider_precision(s));
  }
  return fmt::format("{}, but the next step from them meets the same; {}{}", kept, advise_older_checkpoint(s),
                     advise_same_weights(s));
}

}  // namespace dt::train
