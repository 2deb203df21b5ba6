#pragma once
// The options of dt-shard-data and what they run.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/console.hpp"
#include "base/cli/manual.hpp"
#include "base/cli/options.hpp"
#include "base/cli/tasks.hpp"
#include "data/build/make_dataset.hpp"
#include "data/build/split_rule.hpp"

namespace dt::shard_data {

/// The options as given. Exactly one of out, encode_only, save_tokenizer, show, verify and decode
/// is set.
struct Options {
  std::vector<std::string> inputs;
  std::optional<std::string> input_list;
  std::optional<std::string> out;
  bool encode_only = false;
  std::optional<std::string> save_tokenizer;
  std::optional<std::string> show;
  std::optional<std::string> verify;
  std::optional<std::string> decode;

  data::InputFormat format = data::InputFormat::automatic;
  std::string text_key = "text";
  data::InvalidUtf8 invalid = data::InvalidUtf8::fail;
  std::optional<std::string> token_type;
  std::int64_t decompress_memory = std::int64_t{4} << 30;
  std::optional<std::int64_t> max_output_bytes;
  bool skip_bad_lines = false;
  std::optional<std::string> document_separator;
  std::string tokenizer = "bytes";
  bool names_tokenizer = false;  // the user names the tokenizer
  std::optional<std::string> tokenizer_pattern;
  std::optional<std::string> eos_token;
  std::optional<std::int64_t> train_bpe;
  std::int64_t min_pair_count = 1;
  std::optional<std::string> turn_format;
  std::vector<std::string> loss_on;
  bool append_eos = true;
  std::int64_t shard_tokens = std::int64_t{64} << 20;
  std::int64_t min_chars = 0;
  std::optional<std::int64_t> max_chars;
  bool deduplicate = false;
  double val_fraction = 0.01;
  data::SplitBy val_by = data::SplitBy::order;
  bool shuffle = true;
  std::int64_t seed = 0;
  std::int64_t threads = 1;
  bool overwrite = false;
  bool resume = false;
  std::optional<bool> share_tasks;
  Task task;  // from --share-tasks and the launcher
};

/// Returns dt-shard-data's option table. `options` must outlive it.
OptionTable make_options(Options& options);

/// Checks options against each other and sets what follows from them. The table calls it.
/// Errors: usage.
void check_options(const OptionTable& table, Options& options);

/// The value of --turn-format that follows the chat template of the tokenizer's files.
inline constexpr const char* as_chat_template = "chat-template";

/// Replaces the escapes \n, \t, \r and \\ in the value of an option by their characters.
/// Errors: usage, if a backslash stands before another character.
std::string unescape(const std::string& text, const char* option);

/// Returns how conversations are written, or none without --turn-format.
/// Errors: usage, if the format is unusable; as data::turn_format_of_files().
std::optional<data::TurnFormat> turns_of(const Options& options);

/// Returns the options for making a dataset. `console` must outlive them; it receives notes about
/// the inputs.
data::MakeOptions dataset_options(const Options& options, Console& console);

/// COUNT tokens of a shard from OFFSET on.
struct TokenRange {
  std::string shard;
  std::uint64_t offset;
  std::uint64_t count;
};
/// Parses SHARD:OFFSET:COUNT.
/// Errors: usage if the text has another form.
TokenRange parse_range(const std::string& text);

/// Prints ids instead of making a dataset.
int encode_only(const Options& options, Console& console);

/// Prints the text of the tokens.
int decode(const TokenRange& range, Console& console);

/// Does what the options request and returns the exit code.
int run(const Options& options, Console& console);

/// Returns the prose of the man page.
Manual manual();

}  // namespace dt::shard_data
