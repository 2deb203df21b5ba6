#pragma once
// dt-train --eval-only: the validation loss of weights from anywhere.

#include "base/console.hpp"
#include "train/settings.hpp"

namespace dt::train {

/// Takes --init-from, or what --resume leads to; writes the evaluation to stdout and, with --logits-out,
/// logits to a file. Touches no run directory. Returns the exit code.
int evaluate_only(const Settings& settings, Console& console);

}  // namespace dt::train
