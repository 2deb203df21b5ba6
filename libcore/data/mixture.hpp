#pragma once
// What is trained on: one dataset, or several by weight.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/quotas.hpp"
#include "data/token_dataset.hpp"

namespace dt::data {

/// A folder of a mixture, and its weight as an integer.
struct MixturePart {
  std::filesystem::path folder;
  std::uint64_t weight = 1;
};

/// "a=0.7,b=0.3" as folders and weights, which are decimals and need not add up to 1. A text that does not
/// end in =NUMBER is one folder as it stands, with whatever = and , it has; so "x=1/" is the folder x=1. In a
/// mixture a folder ends where =NUMBER and a comma follow. Errors: usage, where a weight is 0 or has more
/// than 18 digits, or a folder is named twice.
std::vector<MixturePart> parse_mixture(const std::string& text);

/// Identifies what is trained on: of one source, its content digest; of several, the digest of their content
/// digests and weights in lowest terms, in their order.
std::uint64_t mixture_digest(const std::vector<std::uint64_t>& contents,
                             const std::vector<std::uint64_t>& weights);

/// Its datasets are open; safe from several threads.
class Mixture {
 public:
  /// As users write it; see parse_mixture. Errors: of TokenDataset and Quotas; input, where tokenizers
  /// differ.
  /// `copies`: of each dataset; empty: there are none. `share`: of the shards of each.
  explicit Mixture(const std::string& text, const std::vector<DatasetCopy>& copies = {},
                   const ShardShare& share = {});
  /// One alone.
  explicit Mixture(TokenDataset dataset);

  /// As the user wrote it.
  const std::string& name() const { return name_; }
  std::size_t size() const { return datasets_.size(); }
  const TokenDataset& source(std::size_t index) const { return datasets_[index]; }
  /// Its folder as the user wrote it.
  const std::string& source_name(std::size_t index) const { return source_names_[index]; }
  const Quotas& quotas() const { return quotas_; }
  std::int64_t vocabulary_size() const { return datasets_.front().vocabulary_size(); }
  std::uint64_t content_digest() const;
  /// Of all sources.
  std::uint64_t tokens(Split split) const;
  /// Whether some tokens of some source are no targets.
  bool masks_targets() const;

 private:
  Mixture(std::string name, const std::vector<MixturePart>& parts, const std::vector<DatasetCopy>& copies,
          const ShardShare& share);
  void check_tokenizers() const;
  std::string name_;
  Quotas quotas_;
  std::vector<TokenDataset> datasets_;
  std::vector<std::string> source_names_;
};

}  // namespace dt::data
