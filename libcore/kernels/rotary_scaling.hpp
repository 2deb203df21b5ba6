#pragma once
// The frequencies of rotary positions, as data.

#include <cstdint>
#include <optional>

namespace dt::kernels {

/// How a model stretches its frequencies so that it reaches positions beyond those of its first training.
struct RotaryScaling {
  /// linear divides every frequency by `factor`. Source: Chen et al. 2023, section 3.2.
  /// llama3 leaves wavelengths below original_positions / high_frequency_factor as they are, divides the
  /// frequency of those above original_positions / low_frequency_factor by `factor`, and goes smoothly from
  /// one to the other between them. Source: Llama 3.1's reference code (apply_scaling), which Hugging Face
  /// transformers calls "llama3".
  enum class Type { linear, llama3 } type = Type::llama3;
  double factor = 1;
  double low_frequency_factor = 1;  // this and the following: of llama3
  double high_frequency_factor = 4;
  std::int64_t original_positions = 0;

  bool operator==(const RotaryScaling&) const = default;
};

struct RotaryFrequencies {
  double theta = 10000;
  std::optional<RotaryScaling> scaling;
};

}  // namespace dt::kernels
