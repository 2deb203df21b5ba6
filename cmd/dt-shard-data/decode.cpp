// --decode: prints a range of a shard's tokens as text.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/io/paths.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "cmd/dt-shard-data/options.hpp"
#include "data/read/token_shard.hpp"
#include "data/tokenizer.hpp"

namespace dt::shard_data {

namespace {

using Json = nlohmann::ordered_json;

/// Composes text from tokens. For people, targets stand between ⟦ and ⟧ if the shard masks some
/// tokens. For programs, it lists the stretches of targets and of other tokens.
class MarkedText {
 public:
  MarkedText(const data::Tokenizer& tokenizer, bool marks, bool lists)
      : tokenizer_(tokenizer), marks_(marks), lists_(lists) {}

  /// Appends labels. Those that are not targets are negative.
  void append(std::span<const std::int32_t> labels) {
    for (std::size_t begin = 0, end = 0; begin < labels.size(); begin = end) {
      const bool is_target = labels[begin] >= 0;
      while (end < labels.size() && (labels[end] >= 0) == is_target) ++end;
      append(labels.subspan(begin, end - begin), is_target);
    }
  }
  /// Returns the text appended since the last call.
  std::string take() { return std::exchange(text_, {}); }
  /// Returns the stretches of text, in order.
  Json parts() const { return parts_; }
  void finish() {
    if (is_open_) text_ += "⟧";
    is_open_ = false;
  }

 private:
  void append(std::span<const std::int32_t> labels, bool is_target) {
    std::vector<std::uint32_t> ids;
    for (const std::int32_t label : labels) ids.push_back(data::token_of(static_cast<std::uint32_t>(label)));
    const std::string text = tokenizer_.decode(ids);
    if (marks_ && is_target != is_open_) text_ += is_target ? "⟦" : "⟧";
    is_open_ = marks_ && is_target;
    text_ += text;
    if (!lists_) return;
    if (!parts_.empty() && parts_.back()["learned"] == is_target) {
      parts_.back()["text"] = parts_.back()["text"].get<std::string>() + text;
    } else {
      parts_.push_back({{"text", text}, {"learned", is_target}});
    }
  }

  const data::Tokenizer& tokenizer_;
  bool marks_;
  bool lists_;
  bool is_open_ = false;
  std::string text_;
  Json parts_ = Json::array();
};

}  // namespace

TokenRange parse_range(const std::string& text) {
  const Error error(ErrorKind::usage, fmt::format("invalid value '{}' for option '--decode'", text),
                    "expected SHARD:OFFSET:COUNT, such as data/train-00000.h5:0:200");
  // The path may contain colons.
  const std::size_t second = text.rfind(':');
  const std::size_t first =
      second == std::string::npos || second == 0 ? std::string::npos : text.rfind(':', second - 1);
  if (first == std::string::npos || first == 0) throw error;
  try {
    const std::int64_t offset = parse_count(text.substr(first + 1, second - first - 1));
    const std::int64_t count = parse_count(text.substr(second + 1));
    if (offset < 0 || count < 0) throw error;
    return {text.substr(0, first), static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(count)};
  } catch (const Error&) {
    throw error;
  }
}

int decode(const TokenRange& range, Console& console) {
  const data::TokenShard shard(range.shard);
  const data::TokenShardHeader& header = shard.header();
  if (range.offset > header.tokens || range.count > header.tokens - range.offset) {
    throw Error(ErrorKind::input,
                fmt::format("{}: tokens {} to {} are out of range", range.shard, range.offset,
                            range.offset + range.count),
                fmt::format("the shard has {}", pluralize(header.tokens, "token")));
  }
  const auto tokenizer = data::open_tokenizer(fs::path(range.shard).parent_path(), header.tokenizer);
  constexpr std::uint64_t max_part = std::uint64_t{1} << 20;
  MarkedText text(*tokenizer, header.masks_targets && !console.json(),
                  header.masks_targets && console.json());
  for (std::uint64_t done = 0; done < range.count;) {
    std::vector<std::int32_t> labels(std::min(range.count - done, max_part));
    shard.read_labels(range.offset + done, labels);
    text.append(labels);
    done += labels.size();
    if (!console.json()) console.write_bytes(text.take());
  }
  text.finish();
  if (!console.json()) {
    console.write_bytes(text.take());
    return 0;
  }
  Json json = {{"shard", escape_invalid_utf8(range.shard)},
               {"offset", range.offset},
               {"count", range.count},
               {"text", text.take()}};
  if (header.masks_targets) json["parts"] = text.parts();
  // The text may end in the middle of a character.
  console.write_text(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return 0;
}

}  // namespace dt::shard_data
