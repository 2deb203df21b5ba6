#include "train/report/non_finite_advice.hpp"

#include <fmt/format.h>

namespace dt::train {

namespace {

/// Returns the advice to restart from older weights, with a learning rate that avoids the same
/// divergence.
std::string advise_older_checkpoint(const TrainingStanding& s) {
  const std::string lower = fmt::format("a lower --lr (it was {}) or longer --warmup-steps", s.lr);
  if (s.older_is_local)
    return fmt::format("start again with --resume auto and {}: training resumes from {}", lower, s.older);
  const bool is_outside = s.older.empty() && !s.foreign_checkpoint.empty() && s.step > s.first_step;
  const std::string& from = is_outside ? s.foreign_checkpoint : s.older;
  if (from.empty())
    return fmt::format("no older checkpoint is left: start from step 0 with --resume never and {}", lower);
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
        "; if another --precision or other --data produced these weights, use --resume {} with those",
        s.checkpoint);
  if (!has_narrow_range(s.precision) || s.checkpoint.empty() || s.is_local) return {};
  return fmt::format("; if only the range of {} is exceeded, use --resume {} with {}",
                     precision_name(s.precision), s.checkpoint, wider_precision(s));
}

}  // namespace

std::string advise_on_weights(const TrainingStanding& s) {
  if (s.step == 0) {
    const std::string whose = s.init_from.empty() ? "the initial weights" : "the weights of " + s.init_from;
    return fmt::format("{} cause this before the first step: nothing is saved; {}", whose,
                       s.precision != DType::f32 ? "try " + wider_precision(s)
                       : s.init_from.empty()     ? "change --model or the data"
                                                 : "use other weights with --init-from");
  }
  std::string text =
      s.checkpoint.empty()
          ? fmt::format("the weights of step {} are not saved", s.step)
          : fmt::format("{} is marked as not finite, and --resume auto skips it", s.checkpoint);
  return text + "; " + advise_older_checkpoint(s) + advise_same_weights(s);
}

std::string advise_on_gradients(const TrainingStanding& s) {
  const std::string kept = s.checkpoint.empty()
                               ? std::string("nothing is saved")
                               : fmt::format("the weights of step {} are saved in {}", s.step, s.checkpoint);
  if (s.fixed_loss_scale) return fmt::format("{}; lower --loss-scale (it is {})", kept, *s.fixed_loss_scale);
  if (s.step == 0) {
    return fmt::format("{}; {}", kept,
                       s.precision == DType::f32 ? "use other weights or data" : "try " + wider_precision(s));
  }
  return fmt::format("{}, but the next step from them gives the same result; {}{}", kept,
                     advise_older_checkpoint(s), advise_same_weights(s));
}

}  // namespace dt::train
