#include "data/input/input_options.hpp"

#include <fmt/format.h>
#include <utility>

#include "base/text/text.hpp"

namespace dt::data {

InputNotices::InputNotices(std::function<void(const std::string&)> tell) : tell_(std::move(tell)) {}

void InputNotices::json_lines(const std::string& name, const std::string& text_key) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(has_told_lines_, true)) return;
  tell_(fmt::format(
      "reading {} and similar files as JSON lines, because the first line is an object with the key \"{}\"; "
      "--format text or --format jsonl sets one format for all inputs",
      name, text_key));
}

void InputNotices::slow_regex(const Tokenizer& tokenizer) {
  const std::lock_guard lock(mutex_);
  const bool splits = tokenizer.splits_by_regex(), normalizes = tokenizer.normalizes_by_regex();
  if (!(splits || normalizes) || std::exchange(has_told_regex_, true)) return;
  if (splits)
    tell_(
        "dt has no fast scanner for the tokenizer's pattern, so Oniguruma splits the text at about 30 MB/s "
        "per core instead of 300 MB/s or more");
  if (normalizes)
    tell_(
        "the tokenizer's normalizer uses a regular expression, which Oniguruma runs at about 30 to 250 MB/s "
        "per core");
}

void InputNotices::decompress_memory(const std::string& name, const std::string& codec, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes <= memory_told_) return;
  memory_told_ = bytes;
  tell_(fmt::format("{} needs {} of memory to decompress ({})", name, format_bytes(bytes), codec));
}

}  // namespace dt::data
