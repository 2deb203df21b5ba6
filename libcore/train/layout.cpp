#include "train/layout.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"

namespace dt::train {

namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\n");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (std::string part = trimmed(text.substr(begin, end - begin)); !part.empty()) parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

Error bad_layout(const std::string& layout, const std::string& what, const std::string& remedy) {
  return Error(ErrorKind::usage, fmt::format("--compare-layouts '{}': {}", layout, what), remedy);
}

std::int64_t number_in(const std::string& layout, const std::string& key, const std::string& value,
                       std::int64_t least, std::int64_t most) {
  std::int64_t number = -1;
  try {
    number = parse_count(value);
  } catch (const Error&) {  // said below
  }
  if (number < least || number > most) {
    throw bad_layout(layout, fmt::format("{}={}", key, value),
                     fmt::format("{} is a number from {} to {}", key, least, most));
  }
  return number;
}

void check_ranks(const Layout& layout, int num_ranks) {
  if (layout.ranks <= num_ranks) return;
  throw bad_layout(layout.name, fmt::format("needs {} ranks, there are {}", layout.ranks, num_ranks),
                   fmt::format("dp of at most {} would do, or start with {} ranks", num_ranks, layout.ranks));
}

/// The micro-batches that divide the batch, next to the one asked for.
void check_micro_batch(const Layout& layout) {
  const std::int64_t batch = layout.settings.global_batch, micro_batch = layout.settings.micro_batch;
  if (batch % micro_batch == 0) return;
  std::int64_t below = std::min(micro_batch, batch), above = micro_batch;
  while (batch % below != 0) --below;
  while (above < batch && batch % above != 0) ++above;
  throw bad_layout(layout.name,
                   fmt::format("micro-batches of {} do not divide --global-batch {}", micro_batch, batch),
                   above > batch || batch % above != 0 || above == below
                       ? fmt::format("micro-batch={} would do", below)
                       : fmt::format("micro-batch={} or micro-batch={} would do", below, above));
}

Layout parse_layout(const std::string& text, const Settings& base, int num_ranks) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  Layout layout{text, num_ranks, base};
  Settings& s = layout.settings;
  const std::map<std::string, std::function<void(const std::string&)>> keys{
      {"dp", [&](const auto& v) { layout.ranks = static_cast<int>(number_in(text, "dp", v, 1, most)); }},
      {"zero", [&](const auto& v) { s.zero = number_in(text, "zero", v, 0, 3); }},
      {"zero-group", [&](const auto& v) { s.zero_group = v; }},
      {"comm-bucket-bytes",
       [&](const auto& v) {
         s.comm_bucket_bytes = number_in(text, "comm-bucket-bytes", v, 0, std::int64_t{1} << 50);
       }},
      {"recompute",
       [&](const auto& v) {
         if (v != "none" && v != "selective" && v != "full")
           throw bad_layout(text, "recompute=" + v, "recompute is none, selective or full");
         s.recompute = v;
       }},
      {"micro-batch", [&](const auto& v) { s.micro_batch = number_in(text, "micro-batch", v, 1, most); }},
      {"threads", [&](const auto& v) { s.threads = number_in(text, "threads", v, 1, 1024); }}};
  std::set<std::string> given;
  for (const std::string& item : split_at(text, ',')) {
    const std::size_t equals = item.find('=');
    const auto key = keys.find(trimmed(item.substr(0, equals)));
    if (equals == std::string::npos || key == keys.end()) {
      throw bad_layout(
          text, fmt::format("'{}' is not a layout's", item),
          "a layout has dp=, zero=, zero-group=, comm-bucket-bytes=, recompute=, micro-batch=, threads=");
    }
    if (!given.insert(key->first).second)
      throw bad_layout(text, fmt::format("{} is given twice", key->first), "leave one of them out");
    key->second(trimmed(item.substr(equals + 1)));
  }
  if (given.contains("zero-group") && s.zero == 0)
    throw bad_layout(text, "zero-group without zero", "add zero=1, 2 or 3");
  check_ranks(layout, num_ranks);
  check_micro_batch(layout);
  return layout;
}

/// Layouts whose sums of gradients are the same sum, in the same order, have the same class.
std::string sum_class(const Plan& plan) {
  const int dp = plan.mesh.dp;
  const bool has_whole_lanes = std::has_single_bit(static_cast<unsigned>(dp)) && plan.grad_lanes % dp == 0;
  // Sums that travel in 16 bits are rounded wherever ranks meet.
  const bool is_rounded_once = plan.precision.wire() == plan.precision.master() || dp == 1;
  const std::string sum = plan.gradient_sum();
  if (has_whole_lanes && is_rounded_once) return sum;
  return fmt::format("{}, {} ranks in groups of {}", sum, dp, plan.mesh.group_size());
}

}  // namespace

std::vector<Layout> parse_layouts(const std::string& text, const Settings& base, int num_ranks) {
  std::vector<Layout> layouts;
  for (const std::string& part : split_at(text, ';')) layouts.push_back(parse_layout(part, base, num_ranks));
  if (layouts.empty()) throw usage_error("--compare-layouts '{}' names no layout", text);
  int most_ranks = 1;
  for (const Layout& layout : layouts) most_ranks = std::max(most_ranks, layout.ranks);
  for (Layout& layout : layouts) {
    if (!layout.settings.grad_lanes) layout.settings.grad_lanes = most_ranks;
  }
  return layouts;
}

Promise promise_of(const Plan& a, const Plan& b) {
  Promise promise;
  promise.same_bits = a.micro_batch == b.micro_batch && a.threads == b.threads &&
                      a.precision == b.precision && sum_class(a) == sum_class(b);
  // Where anything is rounded to 16 bits, no bound on losses would say much.
  const bool is_single = a.precision.compute == DType::f32 && a.precision.wire() == DType::f32;
  if (a.precision.compute == DType::f64) promise.loss_difference = 1e-10;
  if (is_single) promise.loss_difference = 1e-5;
  return promise;
}

}  // namespace dt::train
