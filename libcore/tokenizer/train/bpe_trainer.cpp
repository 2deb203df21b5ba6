#include "tokenizer/train/bpe_trainer.hpp"

#include <algorithm>
#include <cstdint>
#include <future>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "tokenizer/encode/byte_alphabet.hpp"
#include "tokenizer/train/pair_merger.hpp"

namespace dt::tokenizer {

namespace {

/// Numbers pairs in the order in which they come.
class PairNumbers {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::uint32_t find(TokenPair pair) const { return slots_[slot_of(pair)].number; }
  std::uint32_t find_or_add(TokenPair pair) {
    const std::size_t slot = slot_of(pair);
    return slots_[slot].number != none ? slots_[slot].number : add(pair, slot);
  }
  std::uint32_t size() const { return size_; }

 private:
  struct Slot {
    TokenPair pair{no_id, no_id};
    std::uint32_t number = none;
  };
  /// Returns the pair's slot, or the empty slot where the pair would go.
  std::size_t slot_of(TokenPair pair) const {
    const std::uint64_t key = std::uint64_t{pair.left} << 32 | pair.right;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key ^ key >> 29) * 0x9E3779B97F4A7C15 >> 32 & mask;
    while (slots_[at].pair != pair && slots_[at].number != none) at = (at + 1) & mask;
    return at;
  }
  std::uint32_t add(TokenPair pair, std::size_t slot);
  std::vector<Slot> slots_ = std::vector<Slot>(1024);  // a power of two, at most half full
  std::uint32_t size_ = 0;
};

/// A pair, its count and its positions. The positions are where the pair stood when it was added, in
/// ascending order. The count is up to date.
struct PlacedPair {
  TokenPair pair;
  std::int64_t count = 0;
  std::vector<Position> positions;
};

/// The pairs of neighbouring tokens that may merge next, with their counts and positions.
class PairIndex {
 public:
  /// Adds a pair that the index does not have.
  void add(TokenPair pair, std::int64_t count, std::vector<Position> positions);
  /// Lowers a pair's count. Ignores pairs that the index does not have.
  void subtract(TokenPair pair, std::int64_t count);
  /// Takes the most frequent pair; of equally frequent pairs, that with the lower token ids. Returns
  /// none if no pair has a count of at least `least`.
  std::optional<PlacedPair> take_first(std::int64_t least);

 private:
  /// A pair with its count when it was queued. The count may have become smaller since.
  struct Candidate {
    std::int64_t count;
    TokenPair pair;
    std::uint32_t number;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : other.pair < pair;
    }
  };
  PairNumbers numbers_;
  std::vector<PlacedPair> entries_;  // by number
  std::priority_queue<Candidate> candidates_;
};

std::uint32_t PairNumbers::add(TokenPair pair, std::size_t slot) {
  const std::uint32_t number = size_++;
  slots_[slot] = {pair, number};
  if (size_ * std::size_t{2} <= slots_.size()) return number;
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  for (const Slot& s : old) {
    if (s.number != none) slots_[slot_of(s.pair)] = s;
  }
  return number;
}

void PairIndex::add(TokenPair pair, std::int64_t count, std::vector<Position> positions) {
  const std::uint32_t number = numbers_.find_or_add(pair);
  DT_CHECK(number == entries_.size(), "the pair {}, {} is already in the table", pair.left, pair.right);
  candidates_.push({count, pair, number});
  entries_.push_back({pair, count, std::move(positions)});
}

void PairIndex::subtract(TokenPair pair, std::int64_t count) {
  const std::uint32_t number = numbers_.find(pair);
  if (number != PairNumbers::none) entries_[number].count -= count;
}

std::optional<PlacedPair> PairIndex::take_first(std::int64_t least) {
  while (!candidates_.empty() && candidates_.top().count >= least) {
    Candidate first = candidates_.top();
    candidates_.pop();
    PlacedPair& entry = entries_[first.number];
    if (first.count == entry.count) return std::exchange(entry, {first.pair, 0, {}});
    first.count = entry.count;
    if (first.count >= least) candidates_.push(first);
  }
  return std::nullopt;
}

/// Number of positions for which one more thread pays: half a millisecond's work.
constexpr std::size_t places_per_thread = 1 << 14;
constexpr Id merges_per_report = 64;

/// Returns the encoding before any merge: the token that ends a text, and the bytes. The vocabulary
/// also finds the end token by its bytes where its text is in the byte alphabet.
Bpe untrained(const std::string& end_of_text) {
  Bpe bpe;
  const auto bytes = bytes_of_alphabet(end_of_text);
  if (bytes) {
    bpe.vocabulary.set(0, *bytes);
  } else {
    bpe.vocabulary.set_unfindable(0, end_of_text);
  }
  std::vector<std::string> all;
  for (int byte = 0; byte < 256; ++byte) all.emplace_back(1, static_cast<char>(byte));
  std::sort(all.begin(), all.end(), [](const std::string& a, const std::string& b) {
    return in_alphabet(a) < in_alphabet(b);  // UTF-8 sorts as its code points do
  });
  for (const std::string& byte : all) {
    if (bpe.vocabulary.find(byte) == no_id) bpe.vocabulary.set(bpe.vocabulary.size(), byte);
    bpe.byte_ids[static_cast<unsigned char>(byte[0])] = bpe.vocabulary.find(byte);
  }
  return bpe;
}

/// Calls work(0) … work(count − 1), each on a thread of its own.
template <class Work>
void on_threads(std::size_t count, Work work) {
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < count; ++i) others.push_back(std::async(std::launch::async, work, i));
  work(0);
  for (std::future<void>& other : others) other.get();
}

/// Merges the most frequent pair until the vocabulary is full.
/// A pair is most frequent when it first appears. From then on merges only take from it, since a
/// token's bytes only ever come from one pair, at one time. So the index leaves out pairs that are
/// rarer than `least_` when they appear. When it runs out of pairs, `least_` becomes smaller and all
/// pairs are counted anew.
class Trainer {
 public:
  Trainer(std::vector<CountedWord> words, const TrainOptions& options)
      : options_(options),
        bpe_(untrained(options.end_of_text)),
        words_(std::move(words), bpe_.byte_ids),
        sum_(options.vocabulary_size),
        lists_(options.vocabulary_size) {
    for (Id id = 0; id < bpe_.vocabulary.size(); ++id) add_num_bytes(id);
  }

  Bpe train(const TrainProgress& progress) {
    const Id size = options_.vocabulary_size;
    least_ = std::max(least_allowed(), num_pairs() / (std::int64_t{size} * 256));
    count_pairs();
    while (bpe_.vocabulary.size() < size) {
      if (bpe_.vocabulary.size() % merges_per_report == 0) progress(bpe_.vocabulary.size(), size);
      if (const auto pair = index_.take_first(least_)) {
        merge(*pair);
        continue;
      }
      if (least_ == least_allowed()) break;
      least_ = std::max(least_allowed(), least_ / 16);
      count_pairs();
    }
    return std::move(bpe_);
  }

 private:
  std::int64_t least_allowed() const { return static_cast<std::int64_t>(options_.min_pair_count); }

  void add_num_bytes(Id id) {
    num_bytes_.resize(bpe_.vocabulary.size());
    num_bytes_[id] = static_cast<std::uint32_t>(bpe_.vocabulary.bytes(id).size());
  }

  /// Calls `visit` with every pair, its position and its word's count.
  template <class Visit>
  void visit_pairs(Visit visit) const {
    TrainingWords::Counts counts(words_);
    for (Position at = 1, next = 0; at < words_.size(); at = next) {
      const bool is_token = words_[at] != TrainingWords::border;
      next = at + (is_token ? num_bytes_[words_[at]] : 1);
      if (is_token && words_[next] != TrainingWords::border)
        visit(TokenPair{words_[at], words_[next]}, at, static_cast<std::int64_t>(counts.at(at)));
    }
  }

  std::int64_t num_pairs() const {
    std::int64_t sum = 0;
    visit_pairs([&](TokenPair, Position, std::int64_t count) { sum += count; });
    return sum;
  }

  /// Rebuilds the index from the words as they are now.
  void count_pairs() {
    PairNumbers numbers;
    std::vector<PlacedPair> pairs;  // by pair number
    std::vector<std::size_t> num_places;
    visit_pairs([&](TokenPair pair, Position, std::int64_t count) {
      const std::uint32_t number = numbers.find_or_add(pair);
      if (number == pairs.size()) {
        pairs.push_back({pair, 0, {}});
        num_places.push_back(0);
      }
      pairs[number].count += count;
      ++num_places[number];
    });
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (pairs[i].count >= least_) pairs[i].positions.reserve(num_places[i]);
    }
    place_pairs(numbers, pairs);
    index_ = {};
    for (PlacedPair& pair : pairs) {
      if (pair.count >= least_) index_.add(pair.pair, pair.count, std::move(pair.positions));
    }
  }

  void place_pairs(const PairNumbers& numbers, std::vector<PlacedPair>& pairs) const {
    visit_pairs([&](TokenPair pair, Position at, std::int64_t) {
      PlacedPair& placed = pairs[numbers.find(pair)];
      if (placed.count >= least_) placed.positions.push_back(at);
    });
  }

  void merge(const PlacedPair& placed) {
    const TokenPair pair = placed.pair;
    const Id merged = token_of(pair);
    bpe_.merges.add(pair.left, pair.right, {num_merges_++, merged});
    const auto max_parts = std::min<std::size_t>(static_cast<std::size_t>(options_.threads),
                                                 placed.positions.size() / places_per_thread + 1);
    const auto parts = divide_by_words(words_, placed.positions, max_parts);
    while (sides_.size() < parts.size()) sides_.emplace_back(options_.vocabulary_size);
    on_threads(parts.size(),
               [&](std::size_t i) { merge_pair(words_, num_bytes_, pair, merged, parts[i], sides_[i]); });
    update_index(pair, merged);
    for (MergeSides& sides : sides_) sides.clear();
    sum_.clear();
  }

  /// Returns the token that a pair becomes. The token is new, unless the pair spells the token that
  /// ends a text.
  Id token_of(TokenPair pair) {
    const Vocabulary& vocabulary = bpe_.vocabulary;
    const std::string bytes = std::string(vocabulary.bytes(pair.left)).append(vocabulary.bytes(pair.right));
    if (const Id known = vocabulary.find(bytes); known != no_id) return known;
    const Id id = vocabulary.size();
    bpe_.vocabulary.set(id, bytes);
    add_num_bytes(id);
    return id;
  }

  void update_index(TokenPair pair, Id merged) {
    for (const MergeSides& sides : sides_) {
      sum_.left.add_tallies(sides.left);
      sum_.right.add_tallies(sides.right);
    }
    add_pairs(&MergeSides::left, [&](Id id) { return TokenPair{id, merged}; });
    add_pairs(&MergeSides::right, [&](Id id) { return TokenPair{merged, id}; });
    // Subtraction comes last, since a pair may be gone as soon as it is added: in "abab", the first
    // merge adds ("ab", "a").
    for (const Id id : sum_.left.ids()) index_.subtract({id, pair.left}, sum_.left.tally(id).count);
    for (const Id id : sum_.right.ids()) index_.subtract({pair.right, id}, sum_.right.tally(id).count);
  }

  template <class PairOf>
  void add_pairs(NeighbourTallies MergeSides::*side, PairOf pair_of) {
    const NeighbourTallies& sum = sum_.*side;
    const auto is_left_out = [&](Id id) { return sum.tally(id).count < least_; };
    for (const Id id : sum.ids()) {
      if (!is_left_out(id)) lists_[id].reserve(sum.tally(id).num_places);
    }
    for (const MergeSides& sides : sides_) {
      for (const NeighbourTallies::Place& place : (sides.*side).places()) {
        if (!is_left_out(place.id)) lists_[place.id].push_back(place.at);
      }
    }
    for (const Id id : sum.ids()) {
      if (!is_left_out(id)) index_.add(pair_of(id), sum.tally(id).count, std::exchange(lists_[id], {}));
    }
  }

  const TrainOptions& options_;
  Bpe bpe_;
  TrainingWords words_;
  std::vector<std::uint32_t> num_bytes_;  // by token
  std::int64_t least_ = 1;
  PairIndex index_;
  Rank num_merges_ = 0;
  std::vector<MergeSides> sides_;  // one for each thread
  MergeSides sum_;                 // sum over threads, without positions
  std::vector<std::vector<Position>> lists_;
};

}  // namespace

Bpe train_bpe(std::vector<CountedWord> words, const TrainOptions& options, const TrainProgress& progress) {
  return Trainer(std::move(words), options).train(progress);
}

}  // namespace dt::tokenizer
