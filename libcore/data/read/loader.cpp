#include "data/read/loader.hpp"

#include <algorithm>
#include <future>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"
#include "base/system/host.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

namespace {

/// Position of the source in a digest's seed. No run has 2⁵⁶ samples.
constexpr int source_shift = 56;
static_assert(WeightedInterleave::max_sources <= std::size_t{1} << (64 - source_shift));

/// Returns how many batches beyond the one read ahead to announce to the disk. The number shrinks
/// if the blocks that they touch first would take much of a node's memory.
std::uint64_t batches_told_ahead(std::int64_t batch) {
  constexpr std::uint64_t most = 4, most_bytes = std::uint64_t{2} << 30;
  const auto blocks = static_cast<std::uint64_t>(std::max<std::int64_t>(1, batch));
  return std::clamp<std::uint64_t>(most_bytes / digest_block_bytes / blocks, 1, most);
}

/// Reads window w of a split into row `row`: T tokens from w · T on, and the same tokens shifted by
/// one as labels. Also reads where their documents begin if the batch has room for that.
void read_window(const TokenDataset& dataset, Split split, std::uint64_t window, std::int64_t row,
                 Batch& batch) {
  const auto length = static_cast<std::size_t>(batch.sequence_length);
  const auto row_of = [&](std::vector<std::int32_t>& values_BT) {
    return std::span(values_BT).subspan(static_cast<std::size_t>(row) * length, length);
  };
  dataset.read(split, window * length, row_of(batch.tokens_BT));
  dataset.read_labels(split, window * length + 1, row_of(batch.labels_BT));
  if (!batch.first_BT.empty()) dataset.document_starts(split, window * length, row_of(batch.first_BT));
}

Batch empty_batch(std::uint64_t first, std::int64_t count, std::int64_t sequence_length, bool documents) {
  DT_CHECK(count >= 0 && sequence_length > 0, "cannot draw {} samples of {} tokens", count, sequence_length);
  Batch batch{first, count, sequence_length, {}, {}, {}, {}, {}, {}};
  batch.tokens_BT.resize(static_cast<std::size_t>(count * sequence_length));
  batch.labels_BT.resize(batch.tokens_BT.size());
  if (documents) batch.first_BT.resize(batch.tokens_BT.size());
  for (std::int64_t i = 0; i < count; ++i) batch.samples_B.push_back(first + static_cast<std::uint64_t>(i));
  batch.digest_seeds_B = batch.samples_B;
  return batch;
}

/// Finds the source and window of samples. Keeps the order of each source's epoch, which takes
/// longer to make than to query.
/// Thread safety: none.
class Places {
 public:
  Places(const Mixture& mixture, const std::vector<Sampler>& samplers)
      : mixture_(mixture), samplers_(samplers), orders_(samplers.size()) {}

  struct Place {
    std::size_t source;
    std::uint64_t window;
  };
  Place at(std::uint64_t sample) {
    const auto [source, index] = mixture_.interleave().at(sample);
    const std::uint64_t windows = samplers_[source].num_windows(), epoch = index / windows;
    std::optional<Order>& order = orders_[source];
    if (!order || order->epoch != epoch) order = Order{epoch, samplers_[source].order(epoch)};
    return {source, order->permutation(index % windows)};
  }

 private:
  struct Order {
    std::uint64_t epoch;
    Permutation permutation;
  };
  const Mixture& mixture_;
  const std::vector<Sampler>& samplers_;
  std::vector<std::optional<Order>> orders_;  // by source
};

/// Fills a sample in digest form: its tokens and last label, each marked if it is not a target. The
/// first token is a label of another sample, so it stays unmarked.
void fill_digested(const std::int32_t* tokens_T, const std::int32_t* labels_T,
                   std::span<std::int32_t> sample) {
  const std::size_t last = sample.size() - 1;
  sample[0] = tokens_T[0];
  for (std::size_t t = 1; t < last; ++t)
    sample[t] = tokens_T[t] | (labels_T[t - 1] & static_cast<std::int32_t>(not_a_target));
  sample[last] = labels_T[last - 1];
}

}  // namespace

struct Loader::State {
  const Mixture& mixture;
  std::vector<Sampler> samplers;  // by source
  std::int64_t sequence_length;
  bool documents;
  double wait_s = 0;
  std::uint64_t ahead_first = 0;
  std::int64_t ahead_count = 0;
  std::optional<Batch> ahead_batch;  // set once it is loaded
  std::future<Batch> ahead;          // destructor waits for the reader

  Batch& wait_for_ahead() {
    if (ahead.valid()) ahead_batch = ahead.get();
    return *ahead_batch;
  }

  Batch load(std::uint64_t first, std::int64_t count) const {
    Batch batch = empty_batch(first, count, sequence_length, documents);
    Places places(mixture, samplers);
    for (std::int64_t row = 0; row < count; ++row) {
      const auto [source, window] = places.at(first + static_cast<std::uint64_t>(row));
      batch.digest_seeds_B[static_cast<std::size_t>(row)] += std::uint64_t{source} << source_shift;
      read_window(mixture.source(source), Split::train, window, row, batch);
    }
    return batch;
  }

  /// Asks the system to begin reading a later batch.
  void will_need(std::uint64_t first, std::int64_t count) const {
    const auto length = static_cast<std::uint64_t>(sequence_length);
    Places places(mixture, samplers);
    for (std::uint64_t sample = first; sample < first + static_cast<std::uint64_t>(count); ++sample) {
      const auto [source, window] = places.at(sample);
      mixture.source(source).will_need(Split::train, window * length, length + 1);
    }
  }
};

std::vector<Sampler> samplers_of(const Mixture& mixture, std::uint64_t seed, std::int64_t sequence_length) {
  std::vector<Sampler> samplers;
  for (std::size_t source = 0; source < mixture.size(); ++source) {
    const std::string whose = mixture.size() > 1 ? " of " + mixture.source_name(source) : "";
    samplers.emplace_back(seed, mixture.source(source).split(Split::train).tokens, sequence_length, source,
                          "the train split" + whose);
  }
  return samplers;
}

Loader::Loader(const Mixture& mixture, std::uint64_t seed, std::int64_t sequence_length, bool documents)
    : state_(new State{mixture,
                       samplers_of(mixture, seed, sequence_length),
                       sequence_length,
                       documents,
                       0,
                       0,
                       0,
                       {},
                       {}}) {}

Loader::~Loader() = default;

const Sampler& Loader::sampler(std::size_t source) const {
  return state_->samplers[source];
}

Batch Loader::next(std::uint64_t first, std::int64_t count, std::uint64_t first_ahead) {
  State& s = *state_;
  const double start = monotonic_s();
  const bool has_ahead = s.ahead.valid() || s.ahead_batch;
  const bool is_ahead = has_ahead && s.ahead_first == first && s.ahead_count == count;
  if (!is_ahead) s.will_need(first, count);
  Batch batch = is_ahead ? std::move(s.wait_for_ahead()) : s.load(first, count);
  s.ahead_batch.reset();
  s.wait_s += monotonic_s() - start;
  s.ahead = std::async(std::launch::async, [&s, stride = first_ahead - first, first_ahead, count, is_ahead] {
    // Batches are assumed to continue at this distance. If they do, all but the last were announced
    // earlier.
    const std::uint64_t last = batches_told_ahead(count);
    for (std::uint64_t i = is_ahead ? last : 0; i <= last; ++i) s.will_need(first_ahead + i * stride, count);
    return s.load(first_ahead, count);
  });
  s.ahead_first = first_ahead;
  s.ahead_count = count;
  return batch;
}

std::int64_t Loader::num_targets_ahead() {
  const double start = monotonic_s();
  const Batch& batch = state_->wait_for_ahead();
  state_->wait_s += monotonic_s() - start;
  return num_targets(batch);
}

double Loader::wait_s() const {
  return state_->wait_s;
}

std::int64_t num_targets(const Batch& batch) {
  return std::ranges::count_if(batch.labels_BT, [](std::int32_t label) { return label >= 0; });
}

std::uint64_t num_validation_windows(const TokenDataset& dataset, std::int64_t sequence_length) {
  DT_CHECK(sequence_length > 0, "the sequence length is {}, not positive", sequence_length);
  const std::uint64_t tokens = dataset.split(Split::validation).tokens;
  return tokens == 0 ? 0 : (tokens - 1) / static_cast<std::uint64_t>(sequence_length);
}

std::uint64_t num_validation_windows(const Mixture& mixture, std::int64_t sequence_length) {
  std::uint64_t windows = 0;
  for (std::size_t source = 0; source < mixture.size(); ++source)
    windows += num_validation_windows(mixture.source(source), sequence_length);
  return windows;
}

Batch validation_batch(const TokenDataset& dataset, std::int64_t sequence_length, std::uint64_t first,
                       std::int64_t count, bool documents) {
  Batch batch = empty_batch(first, count, sequence_length, documents);
  for (std::int64_t row = 0; row < count; ++row) {
    read_window(dataset, Split::validation, first + static_cast<std::uint64_t>(row), row, batch);
  }
  return batch;
}

std::uint64_t batch_digest(const std::uint64_t* seeds_B, const std::int32_t* tokens_BT,
                           const std::int32_t* labels_BT, std::int64_t num_samples,
                           std::int64_t sequence_length) {
  DT_CHECK(num_samples >= 0 && sequence_length > 0, "cannot draw {} samples of {} tokens", num_samples,
           sequence_length);
  std::vector<std::int32_t> sample(static_cast<std::size_t>(sequence_length) + 1);
  std::uint64_t sum = 0;
  for (std::int64_t b = 0; b < num_samples; ++b) {
    fill_digested(tokens_BT + b * sequence_length, labels_BT + b * sequence_length, sample);
    sum += digest(std::as_bytes(std::span(sample)), seeds_B[b]);
  }
  return sum;
}

}  // namespace dt::data
