#pragma once
// The frequencies of rotary positions, as data.

#include <cstdint>
#include <optional>

namespace dt::kernels {

/// The scaling of frequencies that extends a model to positions beyond those of its first training.
struct RotaryScaling {
  /// The kind of scaling. linear divides every frequency by `factor` (Chen et al. 2023, section
  /// 3.2). llama3 keeps wavelengths below original_positions / high_frequency_factor, and divides
  /// the frequency of those above original_positions / low_frequency_factor by `factor`. Between
  /// the two it interpolates smoothly.
  /// Source: Llama 3.1's reference code (apply_scaling), called "llama3" in Hugging Face
  /// transformers.
  enum class Type { linear, llama3 } type = Type::llama3;
  double factor = 1;
  double low_frequency_factor = 1;  // llama3 only, as are the following
  double high_frequency_factor = 4;
  std::int64_t original_positions = 0;

  bool operator==(const RotaryScaling&) const = default;
};

struct RotaryFrequencies {
  double theta = 10000;
  std::optional<RotaryScaling> scaling;

  bool operator==(const RotaryFrequencies&) const = default;
};

}  // namespace dt::kernels
