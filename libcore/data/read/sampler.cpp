#include "data/read/sampler.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/numeric/random.hpp"

namespace dt::data {

namespace {

/// The finalizer of splitmix64: every input bit affects every output bit.
/// Source: Steele, Lea & Flood 2014, figure 19.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace

Permutation::Permutation(std::uint64_t seed, std::uint64_t epoch, std::uint64_t size, std::size_t source)
    : size_(size), half_bits_(std::max(1, (static_cast<int>(std::bit_width(size - 1)) + 1) / 2)) {
  DT_CHECK(size > 0, "a permutation needs at least one element");
  const RandomField field(seed,
                          source == 0 ? "sample order" : fmt::format("sample order of source {}", source));
  const std::uint64_t num_keys = std::size(keys_);
  for (std::uint64_t i = 0; i < num_keys; ++i) keys_[i] = field.bits(epoch * num_keys + i);
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  DT_CHECK(index < size_, "index {} is outside a permutation of {}", index, size_);
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  // The network permutes [0, 4^half_bits), which is less than four times `size_`. Walking its cycle
  // leads back into [0, size_).
  do {
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & mask;
    for (const std::uint64_t key : keys_) {
      left ^= mix(right ^ key) & mask;
      std::swap(left, right);
    }
    index = left << half_bits_ | right;
  } while (index >= size_);
  return index;
}

Sampler::Sampler(std::uint64_t seed, std::uint64_t num_tokens, std::int64_t sequence_length,
                 std::size_t source, const std::string& what)
    : seed_(seed), source_(source) {
  DT_CHECK(sequence_length > 0, "the sequence length is {}, not positive", sequence_length);
  const auto length = static_cast<std::uint64_t>(sequence_length);
  if (num_tokens < length + 1) {
    throw Error(
        ErrorKind::input, fmt::format("{} has only {} tokens", what, num_tokens),
        fmt::format(
            "a sequence length of {} needs at least {} tokens: add text or use a smaller --sequence-length",
            sequence_length, length + 1));
  }
  num_windows_ = (num_tokens - 1) / length;
}

std::uint64_t Sampler::window(std::uint64_t sample) const {
  return order(sample / num_windows_)(sample % num_windows_);
}

}  // namespace dt::data
