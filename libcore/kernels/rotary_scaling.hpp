#pragma once
// The frequencies of rotary positions, as data.

#include <cstdint>
#include <optional>
#include <vector>

namespace dt::kernels {

/// The scaling of frequencies that extends a model to positions beyond those of its first training.
struct RotaryScaling {
  /// The kind of scaling. linear divides every frequency by `factor` (Chen et al. 2023, section
  /// 3.2). llama3 keeps wavelengths below original_positions / high_frequency_factor, and divides
  /// the frequency of those above original_positions / low_frequency_factor by `factor`. Between
  /// the two it interpolates smoothly. yarn interpolates between dimensions that turn more than
  /// beta_fast times and fewer than beta_slow times within original_positions. longrope divides each
  /// frequency by a factor of its own.
  /// Source: Llama 3.1's reference code (apply_scaling), called "llama3" in Hugging Face
  /// transformers; Peng et al. 2023, section 3.4 (YaRN); Ding et al. 2024 (LongRoPE).
  enum class Type { linear, llama3, yarn, longrope } type = Type::llama3;
  double factor = 1;
  double low_frequency_factor = 1;   // llama3 only
  double high_frequency_factor = 4;  // llama3 only
  std::int64_t original_positions = 0;
  double beta_fast = 32, beta_slow = 1;  // yarn only
  bool truncate = true;  // yarn only: the ends of the interpolated dimensions are rounded to whole ones
  /// Factors of longrope, one for each frequency: `long_factors` if training's sequences are longer than
  /// original_positions, else `short_factors`.
  std::vector<double> short_factors{}, long_factors{};
  double attention_factor = 1;  // factor of cosines and sines; yarn and longrope

  bool operator==(const RotaryScaling&) const = default;
};

struct RotaryFrequencies {
  double theta = 10000;
  std::optional<RotaryScaling> scaling{};
  /// The part of each head's features that rotates, from the first on. An odd number of features is
  /// rounded up.
  double partial_factor = 1;
  bool is_interleaved = false;  // features 2i and 2i + 1 are a pair, instead of i and i + half
  /// Queries at position p are multiplied by 1 + query_scale · ln(1 + ⌊p / scaling->original_positions⌋).
  double query_scale = 0;

  bool operator==(const RotaryFrequencies&) const = default;
};

}  // namespace dt::kernels
