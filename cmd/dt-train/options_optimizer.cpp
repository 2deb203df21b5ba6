// Optimizer and learning rate.

#include <algorithm>
#include <fmt/ranges.h>

#include "cmd/dt-train/option_groups.hpp"

namespace dt::train_tool {

using plan::Settings;

namespace {

constexpr const char* parameter_classes =
    "Each parameter has one class: embedding (tables of tokens and positions; a tied table, too), head, "
    "norm, bias, or matrix (all others). A factor of the learning rate also scales the weight decay, which "
    "the learning rate multiplies. Norms and biases never decay.";

/// Adds the option of a hyper-parameter, which only the optimizers that use it take.
void add_hyper_parameter(OptionTable& t, Settings& s, const optim::HyperParameter& parameter) {
  const auto add = [&](auto* asked) {
    if constexpr (std::is_same_v<decltype(asked), std::optional<bool>*>)
      t.add(parameter.name, asked, parameter.help);
    else
      t.add(parameter.name, asked, "X",
            fmt::format("{}; default: {}", parameter.help, optim::describe_defaults(parameter)), 0,
            parameter.is_below_one ? 1 : 1e300);
  };
  std::visit([&](const auto& members) { add(&(s.optimizer.*members.asked)); }, parameter.members);
  const std::vector<std::string> users = optim::users_of(parameter);
  t.conflicts_with(evaluation).require(fmt::format("--optimizer {}", fmt::join(users, " or ")), [&s, users] {
    return std::ranges::count(users, name_of(s.optimizer.kind)) > 0;
  });
}

/// Returns the names of the schedules that have a property.
std::string join_kinds(bool (*has_property)(optim::LearningRateScheduleKind),
                       const char* separator = " or ") {
  std::vector<std::string_view> kinds;
  for (const auto& [name, kind] : enum_names(optim::LearningRateScheduleKind{}))
    if (has_property(kind)) kinds.push_back(name);
  return fmt::format("{}", fmt::join(kinds, separator));
}

}  // namespace

void add_optimizer(OptionTable& t, Settings& s) {
  const std::string falling_last = join_kinds(optim::falls_last);
  t.group("Optimizer and learning rate")
      .add("lr", &s.learning_rate.peak, "X", "peak learning rate")
      .conflicts_with(evaluation)
      .add("min-lr", &s.learning_rate.minimum, "X",
           "learning rate at the end of the schedule; default: lr/10")
      .conflicts_with(evaluation)
      .require("a schedule that decays", [&s] { return optim::falls(s.learning_rate.kind); })
      .add("warmup-steps", &s.learning_rate.warmup_steps, "N",
           "steps of linear warm-up; default: 1 % of the steps")
      .conflicts_with(evaluation)
      .choice("schedule", &s.learning_rate.kind, "learning-rate schedule after the warm-up")
      .details(
          fmt::format("{} decay only in the last --decay-steps.", join_kinds(optim::falls_last, " and ")))
      .conflicts_with(evaluation)
      .add("decay-steps", &s.learning_rate.decay_steps, "N",
           fmt::format("number of final steps in which {} decays; default: 20 % of the steps", falling_last))
      .conflicts_with(evaluation)
      .require("--schedule " + falling_last, [&s] { return optim::falls_last(s.learning_rate.kind); })
      .choice("decay-shape", &s.learning_rate.decay_shape, "shape of the decay in --decay-steps")
      .details(
          "After a part p of --decay-steps, the learning rate is min-lr + (lr - min-lr) x f. f is 1 - p "
          "(linear), (1 + cos(pi p)) / 2 (cosine) or 1 - sqrt(p) (1-sqrt). With exponential, it is lr x "
          "(min-lr / lr)^p.")
      .conflicts_with(evaluation)
      .require("--schedule " + join_kinds(optim::takes_decay_shape),
               [&s] { return optim::takes_decay_shape(s.learning_rate.kind); })
      .add("final-steps", &s.learning_rate.final_steps, "N",
           "number of final steps at min-lr, which the schedule reaches before them")
      .conflicts_with(evaluation)
      .require("--schedule " + join_kinds(optim::falls_first),
               [&s] { return optim::falls_first(s.learning_rate.kind); })
      .add("lr-reference-batch", &s.learning_rate.reference_batch, "N",
           "scale learning rates linearly, by global-batch / N", 1)
      .conflicts_with(evaluation)
      .choice("optimizer", &s.optimizer.kind, "optimizer; kept on resume")
      .conflicts_with(evaluation);
  for (const optim::HyperParameter& parameter : optim::hyper_parameters())
    add_hyper_parameter(t, s, parameter);
  t.choice("moments", &s.optimizer.moments, "type of AdamW's moments: that of the master weights, or bf16")
      .details(
          "master is the type of the weights that the optimizer updates: fp32 or fp64. bf16 halves the "
          "memory of the moments. Each step computes them in fp32 and rounds them stochastically: up or "
          "down, with probabilities that preserve their mean. The random bits depend only on --seed, step, "
          "parameter and element. Muon's momentum stays fp32. A resume with another type converts the "
          "moments.")
      .conflicts_with(evaluation)
      .require(fmt::format("--optimizer {}", fmt::join(optim::users_of_moments(), " or ")),
               [&s] { return std::ranges::count(optim::users_of_moments(), name_of(s.optimizer.kind)) > 0; });
  t.add("lr-scale", &s.parameter_classes.lr_scale, "LIST",
        "factors of the learning rate by class of parameters, as in embedding=0.1")
      .details(parameter_classes)
      .conflicts_with(evaluation)
      .add("no-decay", &s.parameter_classes.no_decay, "LIST",
           "classes without weight decay, of embedding, head and matrix; none: they decay")
      .details(parameter_classes)
      .conflicts_with(evaluation)
      .add("mup-base-width", &s.mup.base_width, "WIDTH",
           "hidden size of the narrower model for which --lr was tuned; enables muP", 1)
      .details(
          "muP (Yang et al. 2022) sets initial weights and learning rates so that the best --lr of the "
          "narrower model is also the best one of this model. Let m be hidden size / WIDTH. With AdamW and "
          "Lion, the initial variance and the learning rate of the matrices of blocks are divided by m. The "
          "final norm starts at 1/m, which divides the logits by m, and its learning rate is divided by m. "
          "Weight decay takes the undivided learning rate. If WIDTH is the hidden size, nothing changes.")
      .conflicts_with(evaluation)
      .add("mup-base-head-dim", &s.mup.base_head_dim, "SIZE",
           "head size of the narrower model; default: this model's", 1)
      .details(
          "By default, a wider model has more heads. If it has larger heads instead, give SIZE. Queries then "
          "start smaller, and learn slower, by the square root of SIZE / head size. Attention scores have "
          "the same factor.")
      .conflicts_with(evaluation)
      .require("--mup-base-width", [&s] { return s.mup.base_width.has_value(); });
  t.add("ema", &s.ema, "DECAY",
        "decay of a moving average of the weights, such as 0.999, which evaluations also use; 0: none", 0, 1)
      .details(
          "After each update, average = DECAY x average + (1 - DECAY) x weights, in the type of the masters. "
          "The average begins with the initial weights, without warm-up or bias correction. Checkpoints "
          "contain it. Each evaluation takes twice the time and also reports ema_val_loss. dt-merge --ema "
          "exports the average. A resume may change DECAY. A resume that adds --ema begins the average with "
          "the weights of the checkpoint, and --ema 0 drops it.")
      .conflicts_with(evaluation);
  t.add("clip-norm", &s.clip_norm, "X", "maximum L2 norm of the whole gradient; 0: no clipping")
      .conflicts_with(evaluation)
      .add("z-loss", &s.z_loss, "COEFFICIENT",
           "coefficient of z-loss, which keeps logits from drifting; 0: none")
      .details(
          "A step minimizes the loss plus COEFFICIENT times z-loss: the mean, over the targets of the step, "
          "of the squared logarithm of the sum of exponentials of the logits. Chowdhery et al. 2022 (section "
          "5) use 1e-4. The loss that dt-train reports does not include z-loss; metrics.jsonl has it in "
          "auxiliary_losses.")
      .conflicts_with(evaluation)
      .add("qk-clip", &s.qk_clip, "SCORE",
           "bound on a head's attention score; above it, query and key weights are scaled down; 0: none")
      .details(
          "A head's score is the largest scaled product of a query and a key of a step's tokens, before soft "
          "caps. After the update of the step, the weights and biases of the head's queries and keys are "
          "each multiplied by the square root of SCORE / score. If query heads share key heads, only those "
          "of the queries are multiplied, by SCORE / score. Kimi K2 uses 100 with Muon (Kimi Team 2025, "
          "section 2.1). The option runs on CPUs only, and not for models that normalize queries and keys. "
          "metrics.jsonl has max_attention_score and clipped_heads.")
      .conflicts_with(evaluation);
}

}  // namespace dt::train_tool
