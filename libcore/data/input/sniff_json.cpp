#include "data/input/sniff_json.hpp"

#include <algorithm>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "data/input/json_line.hpp"
#include "data/input/utf8_mender.hpp"

namespace dt::data {

namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr std::size_t max_line_bytes = std::size_t{1} << 20;  // limit of the bytes examined
constexpr std::size_t max_keys_named = 6;

std::string_view without_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

/// Returns the text after a byte order mark and blanks.
std::string_view content_of_text(std::string_view text) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return without_blanks(text);
}

/// Removes `letter` and surrounding blanks from the front. Returns false if another letter is
/// there.
bool take(std::string_view& text, char letter) {
  text = without_blanks(text);
  if (!text.starts_with(letter)) return false;
  text = without_blanks(text.substr(1));
  return true;
}

/// Returns whether the text begins with `{"key":`, with blanks anywhere.
bool begins_object(std::string_view text) {
  if (!take(text, '{') || !text.starts_with('"')) return false;
  std::size_t end = 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  if (end >= text.size()) return false;
  text.remove_prefix(end + 1);
  return take(text, ':');
}

bool begins_array_of_objects(std::string_view text) {
  return take(text, '[') && begins_object(text);
}

Error doubtful(const std::string& what, const std::string& advice) {
  return Error(ErrorKind::input, what, advice + ", or read it as plain text (--format text)");
}

Error no_key_error(const std::string& name, const std::vector<std::string>& keys,
                   const InputOptions& options) {
  std::vector<std::string> named(keys.begin(), keys.begin() + std::min(keys.size(), max_keys_named));
  if (keys.size() > named.size()) named.emplace_back("…");
  const bool has_turns = std::ranges::find(keys, "messages") != keys.end();
  return doubtful(
      fmt::format("{} begins with a JSON object without the key \"{}\"; its keys: {}", name, options.text_key,
                  named.empty() ? "none" : fmt::format("{}", fmt::join(named, ", "))),
      has_turns ? "read conversations with --turn-format" : "name the key that holds the text (--text-key)");
}

/// Returns the error for JSON that is not JSON lines. `text` begins with the first line.
Error other_json_error(std::string_view text, const std::string& name) {
  if (text.starts_with('['))
    return doubtful(name + " looks like a JSON array instead of one object per line",
                    "convert it to JSON lines (jq -c '.[]' FILE | dt-shard-data --format jsonl …)");
  if (text.starts_with('{'))
    return doubtful(name + " looks like JSON, but its first line is not a complete object",
                    "convert it to JSON lines (jq -c . FILE | dt-shard-data --format jsonl …), use --format "
                    "jsonl if only this line is bad");
  return doubtful(name + " is named .json, but does not begin with a JSON object",
                  "if it holds JSON lines, name it .jsonl or use --format jsonl");
}

}  // namespace

bool is_json_lines(PeekedSource& source, const std::string& name, const std::string& plain_name,
                   const InputOptions& options) {
  if (options.format != InputFormat::automatic) return options.format == InputFormat::jsonl;
  if (plain_name.ends_with(".jsonl") || plain_name.ends_with(".ndjson")) return true;
  const bool is_named_json = plain_name.ends_with(".json");
  const std::string_view begin = content_of_text(source.first());
  if (!is_named_json && !begin.empty() && begin.front() != '{' && begin.front() != '[') return false;

  const std::string_view peeked = source.peek_line(max_line_bytes);
  // Invalid UTF-8 is reported or mended where it is read.
  Utf8Mender mender(InvalidUtf8::replace);
  const std::string mended = mender.mend(std::string(peeked), false);
  const std::string_view text = content_of_text(mended);
  if (text.starts_with('{')) {
    const LineKeys line = keys_of_line(text.substr(0, text.find('\n')));
    const bool is_cut = text.find('\n') == text.npos && peeked.size() == max_line_bytes;
    if (line.is_whole || is_cut) {
      if (std::ranges::find(line.keys, options.text_key) != line.keys.end()) {
        if (options.notes) options.notes->json_lines(name, options.text_key);
        return true;
      }
      if (is_cut && (is_named_json || begins_object(text)))
        throw doubtful(fmt::format("{} begins with a JSON object that has no key \"{}\" in its first MiB",
                                   name, options.text_key),
                       "if it holds JSON lines, use --format jsonl");
      if (is_named_json || begins_object(text)) throw no_key_error(name, line.keys, options);
    }
  }
  const bool is_utf8 = mender.take_count() == 0;
  if (begins_object(text) || begins_array_of_objects(text) || (is_named_json && is_utf8 && !text.empty()))
    throw other_json_error(text, name);
  return false;
}

bool is_json_lines(InputFile file, const InputOptions& options) {
  file.begin = 0;
  file.end.reset();
  FileSource bytes(file, [] {});
  PeekedSource peeked(bytes);
  return is_json_lines(peeked, file.name(), file.name(), options);
}

}  // namespace dt::data
