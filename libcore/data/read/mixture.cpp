#include "data/read/mixture.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"
#include "base/numeric/integer.hpp"
#include "base/text/text.hpp"

namespace dt::data {

namespace {

std::vector<std::uint64_t> in_lowest_terms(std::vector<std::uint64_t> weights) {
  std::uint64_t divisor = 0;
  for (const std::uint64_t weight : weights) divisor = std::gcd(divisor, weight);
  for (std::uint64_t& weight : weights) weight /= divisor;
  return weights;
}

std::uint64_t period_of(const std::vector<std::uint64_t>& weights) {
  std::uint64_t sum = 0;
  for (const std::uint64_t weight : weights) sum += std::min(weight, WeightedInterleave::max_period + 1);
  if (sum <= WeightedInterleave::max_period) return sum;
  throw Error(ErrorKind::usage,
              fmt::format("the weights of a mixture sum to more than {} in lowest terms",
                          WeightedInterleave::max_period),
              "round the weights, for example to six decimals");
}

constexpr std::size_t max_digits = 18;  // per weight, to fit 64 bits

/// A weight as the user wrote it. "0.25" has the digits 025, two of them decimals.
struct Decimal {
  std::string digits;
  std::size_t decimals = 0;
};

std::optional<Decimal> parse_decimal(std::string_view text) {
  const std::size_t point = text.find('.');
  Decimal decimal{std::string(text), 0};
  if (point != text.npos) {
    decimal.digits.erase(point, 1);
    decimal.decimals = text.size() - point - 1;
  }
  const bool is_number = !decimal.digits.empty() &&
                         std::ranges::all_of(decimal.digits, [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? std::optional(decimal) : std::nullopt;
}

struct WrittenSource {
  std::string folder;
  Decimal weight;
};

/// Parses "FOLDER=NUMBER". Returns none for any other text.
std::optional<WrittenSource> parse_source(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == text.npos || equals == 0) return std::nullopt;
  const auto weight = parse_decimal(std::string_view(text).substr(equals + 1));
  return weight ? std::optional(WrittenSource{text.substr(0, equals), *weight}) : std::nullopt;
}

/// Returns the sources of a mixture, or nothing if the text is not a mixture. A comma without a
/// weight before it belongs to a folder's name.
std::vector<WrittenSource> parse_sources(const std::string& text) {
  std::vector<WrittenSource> sources;
  std::string begun;
  for (const std::string& piece : split(text, ',')) {
    begun += piece;
    if (auto source = parse_source(begun)) {
      sources.push_back(std::move(*source));
      begun.clear();
    } else {
      begun += ',';
    }
  }
  return begun.empty() ? sources : std::vector<WrittenSource>{};
}

std::uint64_t scaled(const WrittenSource& source, std::size_t decimals) {
  std::string digits = source.weight.digits + std::string(decimals - source.weight.decimals, '0');
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  if (digits.size() > max_digits)
    throw usage_error(
        "--data: the weight of {} needs more than {} digits at the precision of the other weights",
        source.folder, max_digits);
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (value == 0)
    throw Error(ErrorKind::usage, fmt::format("--data: the weight of {} is 0", source.folder),
                "remove this dataset, or give it a weight above 0");
  return value;
}

/// Returns a folder's normal form: "./a" and "a/" become "a". Links are not followed, so a link
/// counts as a folder of its own.
std::string plain_name(const std::string& folder) {
  const std::filesystem::path name = (std::filesystem::path(folder) / "").lexically_normal();
  return name.parent_path().string();
}

void check_different(const std::vector<WrittenSource>& sources) {
  std::vector<std::string> names;
  for (const WrittenSource& source : sources) names.push_back(plain_name(source.folder));
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) throw usage_error("--data: {} is listed twice", *twice);
}

std::vector<std::uint64_t> weights_of(const std::vector<MixtureSource>& sources) {
  std::vector<std::uint64_t> weights;
  for (const MixtureSource& source : sources) weights.push_back(source.weight);
  return weights;
}

/// Checks that a single folder with = or , in its name exists, since a misspelt mixture reads as
/// such a name.
void check_meant(const std::string& text, const std::vector<MixtureSource>& sources) {
  if (sources.size() > 1 || text.find_first_of("=,") == text.npos || path_exists(sources[0].folder)) return;
  throw Error(
      ErrorKind::input, fmt::format("the folder {} does not exist", sources[0].folder.string()),
      "give one folder, or several with weights: a=0.7,b=0.3 (write a single folder named x=1 as x=1/)");
}

}  // namespace

WeightedInterleave::WeightedInterleave(std::vector<std::uint64_t> weights) {
  if (weights.empty() || weights.size() > max_sources)
    throw usage_error("a mixture has {} sources; it must have 1 to {}", weights.size(), max_sources);
  if (std::ranges::count(weights, 0) > 0) throw usage_error("a weight in a mixture is 0");
  weights_ = in_lowest_terms(std::move(weights));
  slots_.resize(period_of(weights_));
  fill();
}

/// Fills the period's slots. Sample j of a source may take slots from ⌊j·W/w⌋ on, and must come
/// before its deadline ⌈(j+1)·W/w⌉. Each slot takes the eligible sample with the earliest deadline;
/// ties go to the first source.
void WeightedInterleave::fill() {
  std::vector<std::uint32_t> counts(weights_.size());
  const auto deadline = [&](std::size_t s) {
    return ceil_div((counts[s] + std::uint64_t{1}) * period(), weights_[s]);
  };
  for (std::uint64_t n = 0; n < period(); ++n) {
    std::size_t next = weights_.size();
    for (std::size_t s = 0; s < weights_.size(); ++s) {
      const bool may_come = counts[s] * period() < (n + 1) * weights_[s];
      if (may_come && (next == weights_.size() || deadline(s) < deadline(next))) next = s;
    }
    DT_CHECK(next < weights_.size(), "no source for sample {}", n);
    slots_[n] = {static_cast<std::uint32_t>(next), counts[next]++};
  }
}

WeightedInterleave::SourcePosition WeightedInterleave::at(std::uint64_t sample) const {
  const Slot& slot = slots_[sample % period()];
  return {slot.source, sample / period() * weights_[slot.source] + slot.index};
}

std::uint64_t WeightedInterleave::count(std::size_t source, std::uint64_t num_samples) const {
  const std::uint64_t whole = num_samples / period() * weights_[source];
  for (std::uint64_t n = num_samples % period(); n-- > 0;) {
    if (slots_[n].source == source) return whole + slots_[n].index + 1;
  }
  return whole;
}

std::vector<MixtureSource> parse_mixture(const std::string& text) {
  const std::vector<WrittenSource> written = parse_sources(text);
  if (written.empty()) return {{text, 1}};
  check_different(written);
  std::size_t decimals = 0;
  for (const WrittenSource& source : written) decimals = std::max(decimals, source.weight.decimals);
  std::vector<MixtureSource> sources;
  for (const WrittenSource& source : written) sources.push_back({source.folder, scaled(source, decimals)});
  return sources;
}

std::uint64_t mixture_digest(const std::vector<std::uint64_t>& contents,
                             const std::vector<std::uint64_t>& weights) {
  DT_CHECK(contents.size() == weights.size(), "{} datasets have {} weights", contents.size(), weights.size());
  if (contents.size() == 1) return contents.front();
  Digester digester;
  for (const auto* numbers : {&contents, &weights}) digester.update(std::as_bytes(std::span(*numbers)));
  return digester.value();
}

Mixture::Mixture(const std::string& text, const std::vector<DatasetCopy>& copies, const ShardSubset& subset)
    : Mixture(text, parse_mixture(text), copies, subset) {}

Mixture::Mixture(std::string name, const std::vector<MixtureSource>& sources,
                 const std::vector<DatasetCopy>& copies, const ShardSubset& subset)
    : name_(std::move(name)), interleave_(weights_of(sources)) {
  check_meant(name_, sources);
  DT_CHECK(copies.empty() || copies.size() == sources.size(), "{} dataset copies were given for {} datasets",
           copies.size(), sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    datasets_.emplace_back(sources[i].folder, subset, copies.empty() ? DatasetCopy{} : copies[i]);
    source_names_.push_back(sources[i].folder.string());
  }
  check_tokenizers();
}

Mixture::Mixture(TokenDataset dataset) : name_(dataset.folder().string()), interleave_({1}) {
  datasets_.push_back(std::move(dataset));
  source_names_.push_back(name_);
}

void Mixture::check_tokenizers() const {
  const TokenDataset& first = datasets_.front();
  for (std::size_t i = 1; i < size(); ++i) {
    const TokenDataset& other = datasets_[i];
    if (other.tokenizer_digest() == first.tokenizer_digest()) continue;
    throw Error(
        ErrorKind::input,
        fmt::format("{} and {} have different tokenizers: {}, digest {}, and {}, digest {}", source_names_[0],
                    source_names_[i], first.tokenizer_name(), to_hex(first.tokenizer_digest()),
                    other.tokenizer_name(), to_hex(other.tokenizer_digest())),
        "make both datasets with the same tokenizer");
  }
}

std::uint64_t Mixture::content_digest() const {
  std::vector<std::uint64_t> contents;
  for (const TokenDataset& dataset : datasets_) contents.push_back(dataset.content_digest());
  return mixture_digest(contents, interleave_.weights());
}

bool Mixture::masks_targets() const {
  return std::ranges::any_of(datasets_, &TokenDataset::masks_targets);
}

std::uint64_t Mixture::tokens(Split split) const {
  std::uint64_t tokens = 0;
  for (const TokenDataset& dataset : datasets_) tokens += dataset.split(split).tokens;
  return tokens;
}

}  // namespace dt::data
