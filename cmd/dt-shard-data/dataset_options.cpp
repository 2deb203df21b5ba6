// Translates dt-shard-data's options into those of dataset making.

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "base/cli/build_info.hpp"
#include "base/cli/tasks.hpp"
#include "base/error.hpp"
#include "base/io/files.hpp"
#include "cmd/dt-shard-data/options.hpp"
#include "data/build/tokenizer_config.hpp"
#include "data/input/token_file.hpp"

namespace dt::shard_data {

std::string unescape(const std::string& text, const char* option) {
  constexpr std::array<std::pair<char, char>, 4> escapes = {
      {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'\\', '\\'}}};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char letter = ++i < text.size() ? text[i] : '\0';
    const auto* found = std::find_if(escapes.begin(), escapes.end(),
                                     [&](const auto& escape) { return escape.first == letter; });
    if (found == escapes.end()) {
      throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for option '--{}'", text, option),
                  "expected a backslash in the escapes \\n, \\t, \\r and \\\\ only");
    }
    out += found->second;
  }
  return out;
}

std::optional<data::TurnFormat> turns_of(const Options& options) {
  if (!options.turn_format) return std::nullopt;
  data::TurnFormat turns = *options.turn_format == as_chat_template
                               ? data::turn_format_of_files(options.tokenizer)
                               : data::parse_turn_format(unescape(*options.turn_format, "turn-format"));
  turns.loss_on = options.loss_on;
  return turns;
}

namespace {

/// Warns if the turn format differs from the model's chat template, by which other programs write
/// turns.
void warn_of_other_turns(const Options& options, const data::TurnFormat& turns, Console& console) {
  if (!turns.name.empty() || options.train_bpe || !file_exists(options.tokenizer)) return;
  const std::string why = data::turn_mismatch(turns, options.tokenizer);
  if (!why.empty())
    console.warn(
        "--turn-format differs from the model's chat_template, {}; use --turn-format {} to follow the "
        "template",
        why, as_chat_template);
}

}  // namespace

data::MakeOptions dataset_options(const Options& options, Console& console) {
  data::MakeOptions make;
  make.inputs = options.inputs;
  make.input_list = options.input_list.value_or("");
  if (make.inputs.empty() && make.input_list.empty()) make.inputs = {"-"};
  make.read.format = options.format;
  if (options.turn_format) make.read.format = data::InputFormat::jsonl;  // whatever the file's name
  make.read.takes_tokens = options.names_tokenizer;
  if (options.token_type) make.read.raw_type = value_in(data::raw_token_types, *options.token_type).value();
  make.read.document_separator = unescape(options.document_separator.value_or(""), "document-separator");
  make.read.invalid = options.invalid;
  make.read.text_key = options.text_key;
  make.read.decompress_memory = static_cast<std::uint64_t>(options.decompress_memory);
  if (options.max_output_bytes)
    make.read.max_output_bytes = static_cast<std::uint64_t>(*options.max_output_bytes);
  make.read.notes = std::make_shared<data::InputNotices>(
      [&console, is_first = options.task.number == 0](const std::string& text) {
        if (is_first) return console.info("{}", text);
        console.debug("{}", text);
      });
  make.lines = {options.text_key, options.skip_bad_lines, turns_of(options)};
  if (options.task.number == 0 && make.lines.turns) warn_of_other_turns(options, *make.lines.turns, console);
  make.tokenizer = options.tokenizer;
  make.tokenizer_pattern = options.tokenizer_pattern.value_or("");
  make.eos_token = options.eos_token.value_or("");
  make.train_vocabulary = static_cast<std::uint32_t>(options.train_bpe.value_or(0));
  make.min_pair_count = static_cast<std::uint64_t>(options.min_pair_count);
  make.shard_tokens = static_cast<std::uint64_t>(options.shard_tokens);
  make.min_chars = static_cast<std::uint64_t>(options.min_chars);
  if (options.max_chars) make.max_chars = static_cast<std::uint64_t>(*options.max_chars);
  make.deduplicate = options.deduplicate;
  make.val_fraction = options.val_fraction;
  make.split_by = options.val_by;
  make.seed = static_cast<std::uint64_t>(options.seed);
  make.shuffle = options.shuffle;
  make.append_eos = options.append_eos;
  make.threads = static_cast<int>(options.threads);
  make.overwrite = options.overwrite;
  make.resumes = options.resume;
  make.task = options.task;
  make.step = options.task.count > 1 ? slurm_step_id() : "";
  make.tool = "dt-shard-data " + dt_version();
  make.warn = [&console](const std::string& text) { console.warn("{}", text); };
  return make;
}

}  // namespace dt::shard_data
