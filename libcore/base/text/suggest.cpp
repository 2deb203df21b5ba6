#include "base/text/suggest.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <numeric>
#include <utility>
#include <vector>

namespace dt {

namespace {

/// Names of values and commands in other tools, with dt's names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 28> synonyms = {{
    {"gpu", "cuda"},
    {"half", "fp16"},
    {"float16", "fp16"},
    {"float16", "half"},
    {"fp16", "half"},
    {"bfloat16", "bf16"},
    {"bf16", "bfloat16"},
    {"float32", "fp32"},
    {"float", "fp32"},
    {"float32", "float"},
    {"fp32", "float"},
    {"float64", "fp64"},
    {"double", "fp64"},
    {"float64", "double"},
    {"fp64", "double"},
    {"sendrecv", "send_receive"},
    {"bcast", "broadcast"},
    {"constantwithwarmup", "constant"},
    {"warmupstabledecay", "wsd"},
    {"ls", "list"},
    {"info", "show"},
    {"inspect", "show"},
    {"check", "verify"},
    {"fsck", "verify"},
    {"rm", "prune"},
    {"compare", "diff"},
    {"huggingface", "hf"},
    {"hdf5", "h5"},
}};

/// Returns the name's plain form: "all-reduce", "AllReduce" and "all_reduce" are one name.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '-' || c == '_') continue;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

/// Returns the number of insertions, deletions, replacements and swaps of neighbours.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before_last, last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

bool is_synonym(const std::string& name, const std::string& candidate) {
  return std::ranges::any_of(
      synonyms, [&](const auto& pair) { return pair.first == name && plain(pair.second) == candidate; });
}

/// Returns 0 for the same name or a synonym, 1 for an abbreviation, else 1 plus the number of
/// edits.
std::size_t distance(const std::string& name, const std::string& candidate) {
  const bool is_abbreviated = name.size() >= 2 && candidate.starts_with(name);
  if (name == candidate || is_synonym(name, candidate)) return 0;
  return is_abbreviated ? 1 : 1 + edit_distance(name, candidate);
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  const std::string wanted = plain(name);
  std::string nearest;
  std::size_t best = std::max<std::size_t>(1, wanted.size() / 3) + 2;
  for (const std::string& candidate : candidates) {
    if (const std::size_t d = distance(wanted, plain(candidate)); d < best) {
      best = d;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : fmt::format("did you mean '{}'? ", nearest);
}

bool is_same_name(std::string_view a, std::string_view b) {
  return plain(a) == plain(b);
}

}  // namespace dt
