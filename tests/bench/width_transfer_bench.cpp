// Trains a small model in several widths, with the standard parametrization and with muP. Prints the change
// of each unit's output in four steps (the coordinate check of Yang et al. 2022, appendix D.1), and the loss
// at each learning rate. With muP, neither depends much on the width. Usage: bench_width_transfer
// [adamw|lion|sgd|muon]

#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"
#include "train/width_trial.hpp"

namespace {

using namespace dt;

constexpr std::int64_t widths[] = {32, 64, 128, 256};
constexpr std::int64_t base = widths[0];
constexpr int loss_steps = 60;

dt_test::WidthTrial trial_of(std::int64_t width, bool is_mup, optim::OptimizerKind optimizer, double lr) {
  dt_test::WidthTrial trial{dt_test::widened("llama-tiny", width)};
  trial.settings.optimizer.kind = optimizer;
  trial.settings.learning_rate.peak = lr;
  if (is_mup) trial.settings.mup.base_width = base;
  return trial;
}

void print_changes(bool is_mup, optim::OptimizerKind optimizer, double lr) {
  std::printf("%8s%12s%12s%12s%12s\n", "width", "embedding", "block 0", "block 1", "logits");
  for (const std::int64_t width : widths) {
    std::printf("%8lld", static_cast<long long>(width));
    for (const double change : trial_of(width, is_mup, optimizer, lr).train(4).changes)
      std::printf("%12.4f", change);
    std::printf("\n");
  }
}

void print_losses(bool is_mup, optim::OptimizerKind optimizer, double middle) {
  constexpr double factors[] = {0.125, 0.25, 0.5, 1, 2, 4};
  std::printf("%8s", "width");
  for (const double factor : factors) std::printf("%12.3g", factor * middle);
  std::printf("\n");
  for (const std::int64_t width : widths) {
    std::printf("%8lld", static_cast<long long>(width));
    for (const double factor : factors)
      std::printf("%12.4f", trial_of(width, is_mup, optimizer, factor * middle).train(loss_steps).loss);
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto optimizer = parse_name<optim::OptimizerKind>(argc > 1 ? argv[1] : "adamw");
  if (!optimizer) {
    std::fprintf(stderr, "usage: bench_width_transfer [adamw|lion|sgd|muon]\n");
    return EXIT_FAILURE;
  }
  const double lr = *optimizer == optim::OptimizerKind::sgd ? 0.1 : 0.01;
  for (const bool is_mup : {false, true}) {
    const char* const name = is_mup ? "muP, base width 32" : "standard parametrization";
    std::printf("Mean change of outputs in 4 steps at --lr %g, %s\n", lr, name);
    print_changes(is_mup, *optimizer, lr);
    std::printf("Loss after %d steps by --lr, %s\n", loss_steps, name);
    print_losses(is_mup, *optimizer, lr);
  }
}
