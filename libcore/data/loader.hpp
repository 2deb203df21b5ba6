#pragma once
// Samples of the global order as buffers that the embedding takes, and the digest that proves what was seen.

#include <cstdint>
#include <memory>
#include <vector>

#include "data/mixture.hpp"
#include "data/sampler.hpp"

namespace dt::data {

/// `num_samples` consecutive samples of the run. B = num_samples, T = sequence length.
struct Batch {
  std::uint64_t first_sample = 0;
  std::int64_t num_samples = 0;
  std::int64_t sequence_length = 0;
  std::vector<std::int32_t> tokens_BT;
  std::vector<std::int32_t> labels_BT;   // tokens shifted by one; negative: no target
  std::vector<std::uint64_t> samples_B;  // global sample indices
  /// By which batch_digest knows them: the global index, and in the top eight bits the source.
  std::vector<std::uint64_t> digest_seeds_B;
  /// Empty unless `documents` was asked for. Then for each token the first position of its own sample that it
  /// may attend to: where its document begins, 0 where that is before the sample. Labels stay as they are:
  /// the last token of a document predicts the first of the next one.
  std::vector<std::int32_t> first_BT;
  /// Of each token within its sample; empty where a sample's tokens lie in their order.
  std::vector<std::int32_t> positions_BT;
};

/// The order of each source's own samples. Error{input}: a train split without a window, naming its source
/// where there are several.
std::vector<Sampler> samplers_of(const Mixture& mixture, std::uint64_t seed, std::int64_t sequence_length);

/// Sample i of the run is sample quotas().at(i).index of source quotas().at(i).source. Reads ahead on a
/// thread of its own, with `documents` also where documents begin (Batch::first_BT).
class Loader {
 public:
  /// The mixture must outlive it. Errors: of samplers_of.
  Loader(const Mixture& mixture, std::uint64_t seed, std::int64_t sequence_length, bool documents = false);
  ~Loader();
  const Sampler& sampler(std::size_t source = 0) const;
  /// The batch of samples [first, first + count); then prepares as many from `first_ahead` on, and has the
  /// system read in what some more batches at that distance need. Adds the time spent waiting to wait_s().
  /// Rethrows the reader's error.
  Batch next(std::uint64_t first, std::int64_t count, std::uint64_t first_ahead);
  /// Targets of the batch that is being prepared; waits for it, and adds that to wait_s().
  std::int64_t num_targets_ahead();
  double wait_s() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// How many of its labels are targets.
std::int64_t num_targets(const Batch& batch);

/// Windows [first, first + count) of a validation split, in order; with `documents` also first_BT.
Batch validation_batch(const TokenDataset& dataset, std::int64_t sequence_length, std::uint64_t first,
                       std::int64_t count, bool documents = false);
/// How many complete validation windows there are.
std::uint64_t num_validation_windows(const TokenDataset& dataset, std::int64_t sequence_length);
/// Of all sources.
std::uint64_t num_validation_windows(const Mixture& mixture, std::int64_t sequence_length);

/// Σ mod 2⁶⁴ over samples of XXH3-64(tokens and last label, little-endian int32, all but the first negative
/// where they are no targets; seed = global sample index + source · 2⁵⁶), to be taken from the very buffers
/// handed to the embedding. first_BT is no part of it.
std::uint64_t batch_digest(const std::uint64_t* seeds_B, const std::int32_t* tokens_BT,
                           const std::int32_t* labels_BT, std::int64_t num_samples,
                           std::int64_t sequence_length);

}  // namespace dt::data
