// The checks of several options of dt-shard-data against each other.

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "base/cli/tasks.hpp"
#include "base/error.hpp"
#include "base/text/suggest.hpp"
#include "cmd/dt-shard-data/options.hpp"
#include "data/input/token_file.hpp"

namespace dt::shard_data {

namespace {

using data::InputFormat;

void check_mode(const OptionTable& table, const Options& options) {
  const std::array<std::pair<const char*, bool>, 6> modes = {
      {{"out", options.out.has_value()},
       {"encode-only", options.encode_only},
       {"save-tokenizer", options.save_tokenizer.has_value()},
       {"show", options.show.has_value()},
       {"verify", options.verify.has_value()},
       {"decode", options.decode.has_value()}}};
  const auto is_given = [](const auto& mode) { return mode.second; };
  if (std::count_if(modes.begin(), modes.end(), is_given) != 1) {
    throw Error(ErrorKind::usage,
                "expected one of --out, --encode-only, --save-tokenizer, --show, --verify and --decode",
                "give exactly one of them; see --help");
  }
  const std::string mode = std::find_if(modes.begin(), modes.end(), is_given)->first;
  if (mode == "out" || mode == "encode-only" || mode == "save-tokenizer") return;
  for (const OptionValue& option : table.values()) {
    if (option.given && option.name != mode && option.name != "share-tasks")
      throw usage_error("--{} cannot be combined with --{}", option.name, mode);
  }
  if (!options.inputs.empty())
    throw usage_error("--{} takes no inputs, but '{}' was given", mode, options.inputs.front());
}

/// Rejects options that do not apply to the format.
void check_format(const OptionTable& table, const Options& options) {
  const bool is_tokens = options.format == InputFormat::npy || options.format == InputFormat::bin ||
                         options.format == InputFormat::megatron;
  const auto refuse = [&](const char* name, const char* what, bool is_useless) {
    if (is_useless && table.given(name))
      throw usage_error("--{} applies to {}, not to --format {}", name, what, name_of(options.format));
  };
  for (const char* name : {"text-key", "skip-bad-lines", "turn-format"})
    refuse(name, "JSON lines", is_tokens || options.format == InputFormat::text);
  refuse("document-separator", "text", is_tokens || options.format == InputFormat::jsonl);
  for (const char* name : {"invalid", "min-chars", "max-chars"}) refuse(name, "text", is_tokens);
  refuse("token-type", "--format bin", options.format != InputFormat::bin);
  if (is_tokens && !table.given("tokenizer")) {
    throw Error(ErrorKind::usage, fmt::format("--format {} needs --tokenizer", name_of(options.format)),
                "name the tokenizer that produced the token ids");
  }
  if (options.token_type && !value_in(data::raw_token_types, *options.token_type)) {
    throw Error(ErrorKind::usage,
                fmt::format("invalid value '{}' for option '--token-type'", *options.token_type),
                did_you_mean(*options.token_type, names_in(data::raw_token_types)) +
                    fmt::format("expected {}", fmt::join(names_in(data::raw_token_types), " or ")));
  }
}

bool reads_stdin(const Options& options) {
  const bool is_default = options.inputs.empty() && !options.input_list;
  return is_default || std::count(options.inputs.begin(), options.inputs.end(), "-") > 0;
}

/// Returns this process's task. A mode without inputs does not read standard input.
Task task_of(const Options& options) {
  const bool takes_inputs = options.out || options.encode_only || options.save_tokenizer;
  const bool reads = takes_inputs && (reads_stdin(options) || options.input_list == "-");
  return current_task(options.share_tasks, reads);
}

/// Checks that standard input has a stated format if an option needs JSON lines. Files need none,
/// since their names tell the format.
void check_says_format(const OptionTable& table, const Options& options) {
  if (options.format != InputFormat::automatic || !reads_stdin(options)) return;
  for (const char* name : {"text-key", "skip-bad-lines"}) {
    if (table.given(name) && !options.turn_format)
      throw Error(
          ErrorKind::usage,
          fmt::format("--{} applies to JSON lines, but the format of standard input is unknown", name),
          "add --format jsonl");
  }
}

void check_inputs(const Options& options) {
  if (!options.input_list) return;
  if (options.input_list->empty()) throw usage_error("--input-list is empty");
  if (options.input_list == "-" && std::count(options.inputs.begin(), options.inputs.end(), "-") > 0)
    throw usage_error("standard input cannot be both an input and --input-list");
}

void check_values(const OptionTable& table, const Options& options) {
  if (options.val_fraction >= 1) {
    throw Error(ErrorKind::usage,
                fmt::format("invalid value '{}' for option '--val-fraction'", options.val_fraction),
                "expected a number from 0 up to, but not including, 1");
  }
  if (options.tokenizer == "bytes" && !options.train_bpe) {
    for (const char* name : {"tokenizer-pattern", "eos-token"}) {
      if (table.given(name)) throw usage_error("--{} needs --tokenizer FILE or --train-bpe", name);
    }
  }
  if (options.max_chars && *options.max_chars < options.min_chars)
    throw usage_error("--max-chars {} is below --min-chars {}", *options.max_chars, options.min_chars);
  if (options.turn_format == as_chat_template) {
    if (options.tokenizer == "bytes")
      throw Error(ErrorKind::usage, "--turn-format chat-template needs --tokenizer",
                  "name the model's tokenizer.json");
  } else {
    turns_of(options);
  }
  if (table.given("loss-on") && options.loss_on.empty()) throw usage_error("--loss-on names no role");
  if (!options.document_separator) return;
  if (options.document_separator->empty()) throw usage_error("--document-separator is empty");
  unescape(*options.document_separator, "document-separator");
}

}  // namespace

void check_options(const OptionTable& table, Options& options) {
  options.names_tokenizer = table.given("tokenizer");
  check_mode(table, options);
  check_inputs(options);
  check_format(table, options);
  check_says_format(table, options);
  check_values(table, options);
  if (options.decode) parse_range(*options.decode);
  options.task = task_of(options);
}

}  // namespace dt::shard_data
