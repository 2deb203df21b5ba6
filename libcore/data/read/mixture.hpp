#pragma once
// The data to train on: one dataset, or several by weight, with the source of every sample.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/read/token_dataset.hpp"

namespace dt::data {

/// Assigns each sample of a mixture to a source, in proportion to integer weights, for any sample,
/// without random draws or history. Of the first n samples, source s has ⌊n·w_s/W⌋
/// or ⌈n·w_s/W⌉, W = Σ w, for every n. The order repeats after W / gcd(w) samples. One period is
/// computed and kept, 8 bytes per sample. Rounding n times each cumulative weight would need no
/// period. But with three sources or more a source's count could then fall as n grows.
/// Source: Baruah, Cohen, Plaxton & Varvel 1996, "Proportionate Progress", on one processor:
/// earliest deadline first.
class WeightedInterleave {
 public:
  static constexpr std::uint64_t max_period = std::uint64_t{1} << 20;
  static constexpr std::size_t max_sources = 256;

  /// Errors: usage if a weight is 0, there are more than max_sources, or the period exceeds
  /// max_period.
  explicit WeightedInterleave(std::vector<std::uint64_t> weights);

  struct SourcePosition {
    std::size_t source;
    std::uint64_t index;  // number among the source's own samples
  };
  SourcePosition at(std::uint64_t sample) const;
  /// Returns how many of the run's first `num_samples` samples come from a source.
  std::uint64_t count(std::size_t source, std::uint64_t num_samples) const;

  /// Returns the weights in lowest terms, which are each source's samples per period.
  const std::vector<std::uint64_t>& weights() const { return weights_; }
  std::uint64_t period() const { return slots_.size(); }

 private:
  void fill();
  struct Slot {
    std::uint32_t source;
    std::uint32_t index;
  };
  std::vector<std::uint64_t> weights_;
  std::vector<Slot> slots_;  // one period
};

/// A source of a mixture: a folder with its weight as an integer.
struct MixtureSource {
  std::filesystem::path folder;
  std::uint64_t weight = 1;
};

/// Parses "a=0.7,b=0.3" into sources. Weights are decimals and need not add up to 1. A
/// text that does not end in =NUMBER is one folder, whatever = and , it contains; so "x=1/" is the
/// folder x=1. In a mixture a folder ends where =NUMBER and a comma follow.
/// Errors: usage if a weight is 0 or has more than 18 digits, or a folder is named twice.
std::vector<MixtureSource> parse_mixture(const std::string& text);

/// Returns a digest of the training data. For one source it is its content digest. For several it
/// covers their content digests and weights in lowest terms, in their order.
std::uint64_t mixture_digest(const std::vector<std::uint64_t>& contents,
                             const std::vector<std::uint64_t>& weights);

/// A mixture of open datasets.
/// Thread safety: safe from several threads.
class Mixture {
 public:
  /// Opens a mixture in the form that users write; see parse_mixture(). `copies` has one entry per
  /// dataset, or is empty if there are no copies. `subset` applies to the shards of each dataset.
  /// Errors: as TokenDataset and WeightedInterleave; input if tokenizers differ.
  explicit Mixture(const std::string& text, const std::vector<DatasetCopy>& copies = {},
                   const ShardSubset& subset = {});
  /// Creates a mixture of a single dataset.
  explicit Mixture(TokenDataset dataset);

  /// Returns the mixture as the user wrote it.
  const std::string& name() const { return name_; }
  std::size_t size() const { return datasets_.size(); }
  const TokenDataset& source(std::size_t index) const { return datasets_[index]; }
  /// Returns a source's folder as the user wrote it.
  const std::string& source_name(std::size_t index) const { return source_names_[index]; }
  const WeightedInterleave& interleave() const { return interleave_; }
  std::int64_t vocabulary_size() const { return datasets_.front().vocabulary_size(); }
  std::uint64_t content_digest() const;
  /// Returns the total over all sources.
  std::uint64_t tokens(Split split) const;
  /// Returns whether any source has tokens that are not targets.
  bool masks_targets() const;

 private:
  Mixture(std::string name, const std::vector<MixtureSource>& sources, const std::vector<DatasetCopy>& copies,
          const ShardSubset& subset);
  void check_tokenizers() const;
  std::string name_;
  WeightedInterleave interleave_;
  std::vector<TokenDataset> datasets_;
  std::vector<std::string> source_names_;
};

}  // namespace dt::data
