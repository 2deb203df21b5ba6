#pragma once
// Tells what a start is about to train.

#include <string>
#include <vector>

#include "base/cli/console.hpp"
#include "data/read/mixture.hpp"
#include "train/start/start.hpp"

namespace dt::train {

/// Prints model, data, steps, ranks and layout of a start, what the layout costs, and the checkpoint
/// that it continues from. Warns of ranks without work. `hosts` are the hosts' names by rank.
void print_summary(const Start& start, const data::Mixture& mixture, const std::vector<std::string>& hosts,
                   Console& console);

}  // namespace dt::train
