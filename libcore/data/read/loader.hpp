#pragma once
// Loads samples of the global order into buffers for the embedding, and computes the digest of the
// data seen.

#include <cstdint>
#include <memory>
#include <vector>

#include "data/read/mixture.hpp"
#include "data/read/sampler.hpp"

namespace dt::data {

/// `num_samples` consecutive samples of the run. B = num_samples, T = sequence length.
struct Batch {
  std::uint64_t first_sample = 0;
  std::int64_t num_samples = 0;
  std::int64_t sequence_length = 0;
  std::vector<std::int32_t> tokens_BT;
  std::vector<std::int32_t> labels_BT;   // tokens shifted by one; negative if not a target
  std::vector<std::uint64_t> samples_B;  // global sample indices
  /// Seeds of batch_digest(): the global index, with the source in the top eight bits.
  std::vector<std::uint64_t> digest_seeds_B;
  /// Empty unless `documents` was requested. Otherwise, for each token, the first position in its
  /// sample that it may attend to. That is the start of its document, or 0 if the document starts
  /// before the sample. Labels are unaffected: the last token of a document predicts the first
  /// token of the next.
  std::vector<std::int32_t> first_BT;
  /// Position of each token within its sample. Empty if a sample's tokens are in order.
  std::vector<std::int32_t> positions_BT;
};

/// Returns the order of each source's samples.
/// Errors: input if a train split has no window, naming its source if there are several.
std::vector<Sampler> samplers_of(const Mixture& mixture, std::uint64_t seed, std::int64_t sequence_length);

/// Loads batches. Sample i of the run is sample interleave().at(i).index of source
/// interleave().at(i).source. Reads ahead on its own thread. With `documents` it also reads where
/// documents begin (Batch::first_BT).
class Loader {
 public:
  /// `mixture` must outlive the loader.
  /// Errors: as samplers_of().
  Loader(const Mixture& mixture, std::uint64_t seed, std::int64_t sequence_length, bool documents = false);
  ~Loader();
  const Sampler& sampler(std::size_t source = 0) const;
  /// Returns the batch of samples [first, first + count). Then prepares the batch of the same size
  /// from `first_ahead` on. Asks the system to read in data for some more batches at that distance.
  /// Adds the time spent waiting to wait_s().
  /// Errors: those of the reading thread.
  Batch next(std::uint64_t first, std::int64_t count, std::uint64_t first_ahead);
  /// Returns the number of targets in the batch being prepared. Waits for it, and adds that time to
  /// wait_s().
  std::int64_t num_targets_ahead();
  double wait_s() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns the number of labels that are targets.
std::int64_t num_targets(const Batch& batch);

/// Returns windows [first, first + count) of a validation split in order, with `documents`
/// including first_BT.
Batch validation_batch(const TokenDataset& dataset, std::int64_t sequence_length, std::uint64_t first,
                       std::int64_t count, bool documents = false);
/// Returns the number of complete validation windows.
std::uint64_t num_validation_windows(const TokenDataset& dataset, std::int64_t sequence_length);
/// Returns the total over all sources.
std::uint64_t num_validation_windows(const Mixture& mixture, std::int64_t sequence_length);

/// Returns the digest of a batch, a sum over its samples:
///   Σ XXH3-64(tokens and last label; seed = global sample index + source · 2⁵⁶) mod 2⁶⁴
/// Values are little-endian int32. All but the first are negative if they are not targets. Call it
/// with the very buffers handed to the embedding. first_BT does not enter the digest.
std::uint64_t batch_digest(const std::uint64_t* seeds_B, const std::int32_t* tokens_BT,
                           const std::int32_t* labels_BT, std::int64_t num_samples,
                           std::int64_t sequence_length);

}  // namespace dt::data
