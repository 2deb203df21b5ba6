#pragma once
// The global order of samples: the window of the token sequence for the i-th sample of a run, for
// any i, without a table.

#include <cstddef>
#include <cstdint>
#include <string>

namespace dt::data {

/// A pseudorandom permutation of [0, size), computed per index by a Feistel network over the next
/// even power of two, with cycle walking. Each source of a mixture has its own.
/// Source: Luby & Rackoff 1988; Black & Rogaway 2002, section 3.
class Permutation {
 public:
  Permutation(std::uint64_t seed, std::uint64_t epoch, std::uint64_t size, std::size_t source = 0);
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t size_;
  std::uint64_t keys_[6];
  int half_bits_;
};

/// Windows of sequence_length + 1 tokens with stride sequence_length. A window's last label is the
/// next one's first token. The sampler drops an incomplete last window. With N windows, sample i of
/// a source is this window, where π permutes the windows:
///   π(seed, epoch ⌊i/N⌋)(i mod N)
class Sampler {
 public:
  /// `what` names the tokens in errors.
  /// Errors: input if there are fewer than sequence_length + 1 tokens.
  Sampler(std::uint64_t seed, std::uint64_t num_tokens, std::int64_t sequence_length, std::size_t source = 0,
          const std::string& what = "the train split");
  std::uint64_t num_windows() const { return num_windows_; }
  Permutation order(std::uint64_t epoch) const { return {seed_, epoch, num_windows_, source_}; }
  /// Returns the window of the source's sample i. It starts at token window · sequence_length.
  std::uint64_t window(std::uint64_t sample) const;

 private:
  std::uint64_t seed_;
  std::uint64_t num_windows_;
  std::size_t source_;
};

}  // namespace dt::data
