#include "cmd/dt-shard-data/options.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "base/cli/build_info.hpp"
#include "base/cli/tasks.hpp"
#include "base/error.hpp"
#include "base/system/host.hpp"
#include "data/build/tokenizer_config.hpp"
#include "data/input/token_file.hpp"
#include "tokenizer/encode/vocabulary.hpp"

namespace dt::shard_data {

namespace {

using data::InputFormat;

constexpr std::int64_t max_threads = 1024;

/// Replaces the escapes \n, \t, \r and \\ by their characters.
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
                  "expected text in which a backslash stands before n, t, r or another backslash");
    }
    out += found->second;
  }
  return out;
}

constexpr const char* as_chat_template = "chat-template";

std::optional<data::TurnFormat> turns_of(const Options& options) {
  if (!options.turn_format) return std::nullopt;
  data::TurnFormat turns = *options.turn_format == as_chat_template
                               ? data::turn_format_of_files(options.tokenizer)
                               : data::parse_turn_format(unescape(*options.turn_format, "turn-format"));
  turns.loss_on = options.loss_on;
  return turns;
}

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
    throw Error(
        ErrorKind::usage,
        "one of --out, --encode-only, --save-tokenizer, --show, --verify and --decode is required, and "
        "only one",
        "see --help");
  }
  const std::string mode = std::find_if(modes.begin(), modes.end(), is_given)->first;
  if (mode == "out" || mode == "encode-only" || mode == "save-tokenizer") return;
  for (const OptionValue& option : table.values()) {
    if (option.given && option.name != mode && option.name != "share-tasks")
      throw usage_error("--{} cannot be combined with --{}", option.name, mode);
  }
  if (!options.inputs.empty()) throw usage_error("--{} takes no inputs: '{}'", mode, options.inputs.front());
}

/// Rejects options that have no use with the format.
void check_format(const OptionTable& table, const Options& options) {
  const bool is_tokens = options.format == InputFormat::npy || options.format == InputFormat::bin ||
                         options.format == InputFormat::megatron;
  const auto refuse = [&](const char* name, const char* what, bool has_no_use) {
    if (has_no_use && table.given(name))
      throw usage_error("--{} is for {}, not --format {}", name, what, name_of(options.format));
  };
  for (const char* name : {"text-key", "skip-bad-lines", "turn-format"})
    refuse(name, "JSON lines", is_tokens || options.format == InputFormat::text);
  refuse("document-separator", "text", is_tokens || options.format == InputFormat::jsonl);
  for (const char* name : {"invalid", "min-chars", "max-chars"}) refuse(name, "text", is_tokens);
  refuse("token-type", "--format bin", options.format != InputFormat::bin);
  if (is_tokens && !table.given("tokenizer")) {
    throw Error(ErrorKind::usage, fmt::format("--format {} needs --tokenizer", name_of(options.format)),
                "name the tokenizer that made the ids");
  }
  if (options.token_type && !value_in(data::raw_token_types, *options.token_type)) {
    throw Error(ErrorKind::usage,
                fmt::format("invalid value '{}' for option '--token-type'", *options.token_type),
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
      throw Error(ErrorKind::usage,
                  fmt::format("--{} is for JSON lines, and nothing says that standard input is", name),
                  "say so: --format jsonl");
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
      if (table.given(name)) throw usage_error("--{} says nothing without a tokenizer's file", name);
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

void declare(OptionTable& table, Options& options) {
  options.threads = std::min<std::int64_t>(available_cores(), max_threads);
  table.usage("--out DIR [options] [INPUT...]")
      .usage("--encode-only [options] [INPUT...]")
      .usage("--save-tokenizer FILE --train-bpe N [options] [INPUT...]")
      .usage("--show DIR | --verify DIR | --decode SHARD:OFFSET:COUNT")
      .positional(
          &options.inputs, "INPUT",
          "file, folder (all that is in it, without hidden files), quoted pattern ('in/*.gz'), or - for "
          "standard input (the default); gzip, zstd, xz, lzma, lzip, bzip2, lz4, tar, cpio and zip, "
          "known by their content, are read as what is in them; links are followed, a folder is read once")
      .group("What to do")
      .add("out", &options.out, "DIR",
           "make the dataset DIR; it appears only when whole. Tasks of one srun share the work")
      .add("overwrite", &options.overwrite, "replace DIR where it is a dataset, or FILE")
      .conflicts_with({"encode-only"})
      .add("resume", &options.resume,
           "go on with what an interrupted run of the same command has done, and leave it in .DIR.partial "
           "when "
           "interrupted; not for pipes")
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add(
          "encode-only", &options.encode_only,
          "print token ids instead: a document a line, as it would stand in a dataset; --json: {\"ids\":[…]}")
      .add("save-tokenizer", &options.save_tokenizer, "FILE",
           "make the tokenizer.json FILE alone, by --train-bpe")
      .require("--train-bpe", [&options] { return options.train_bpe.has_value(); })
      .add("show", &options.show, "DIR", "what a dataset consists of")
      .add("verify", &options.verify, "DIR", "check all of a dataset; exit 5 and the names of what is wrong")
      .add("decode", &options.decode, "SHARD:OFFSET:COUNT",
           "print COUNT tokens of a shard file from OFFSET on as text; of conversations with --loss-on, what "
           "is "
           "learned stands between ⟦ and ⟧")
      .group("Input")
      .add("input-list", &options.input_list, "FILE",
           "more inputs: a file that names them, one a line, or - for standard input")
      .choice(
          "format", &options.format,
          "auto: JSON lines are known by name (.jsonl, .ndjson, .jsonl.gz, …) or by a first line that is an "
          "object "
          "with the text key, NumPy's and llm.c's token ids by their content; other JSON is refused, all "
          "else "
          "is UTF-8 text. Ids need the --tokenizer that made them, and "
          "end documents with its end-of-document token: npy, one row of whole numbers; bin, ids alone "
          "(nanoGPT) or llm.c's, never unpacked; megatron, X.bin with X.idx, which says where documents end")
      .add("text-key", &options.text_key, "KEY", "where a JSON line has its text")
      .add(
          "turn-format", &options.turn_format, "FORMAT",
          "inputs are JSON lines, and conversations: lists \"messages\" of objects with a role and a "
          "content. What is "
          "written for each turn: {role} and {content} in it are the turn's (\\n, \\t, \\r, \\\\ "
          "understood). "
          "Special tokens are those that FORMAT writes out; in contents they are text. Turns of weight 0 are "
          "not learned, messages without text left out. chat-template: as the template beside the "
          "tokenizer's "
          "file, where that is ChatML's, Qwen 2's, Llama 3's or Gemma's")
      .conflicts_with({"text-key"})
      .add("loss-on", &options.loss_on, "ROLES",
           "what models learn to write: the contents of these roles' turns and what FORMAT has behind them; "
           "the rest is read alone; each must occur")
      .require("--turn-format", [&options] { return options.turn_format.has_value(); })
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("document-separator", &options.document_separator, "STRING",
           "split text into documents at STRING (\\n, \\t, \\r, \\\\ understood); without it a file is a "
           "document")
      .choice("invalid", &options.invalid,
              "bytes that are not UTF-8: an error, or each sequence of them U+FFFD, or left out, and counted")
      .add("skip-bad-lines", &options.skip_bad_lines,
           "leave out and count lines that are no JSON object with a text")
      .add("token-type", &options.token_type,
           fmt::format("{}", fmt::join(names_in(data::raw_token_types), "|")),
           "of --format bin without a header; default: u16 for tokenizers of up to 65,536 tokens, else u32")
      .add("decompress-memory", &options.decompress_memory, "SIZE",
           "memory that decompressing a file may take; what takes more is refused", 1)
      .add("max-output-bytes", &options.max_output_bytes, "SIZE",
           "most bytes that one input may become, decompressed and unpacked; more is refused (default: no "
           "limit)",
           1)
      .group("Output")
      .add("tokenizer", &options.tokenizer, "FILE",
           "bytes: a token is a byte of UTF-8; or a file: Hugging Face's tokenizer.json, SentencePiece's "
           "tokenizer.model (bpe), Mistral's tekken.json, or tiktoken's ranks")
      .add("tokenizer-pattern", &options.tokenizer_pattern, "PATTERN",
           "how text is split before tiktoken's ranks merge it, or --train-bpe's (default gpt2): gpt2, "
           "cl100k, o200k, llama3, qwen2, tekken or a regular expression")
      .add("eos-token", &options.eos_token, "TEXT",
           "the token that ends a document; default: the tokenizer's own, <|endoftext|> for --train-bpe. "
           "Ranks "
           "that are no published encoding's get it as a token")
      .add("train-bpe", &options.train_bpe, "N",
           "learn a byte-pair encoding of N tokens from the inputs, bytes and the token that ends a document "
           "among them, and encode with it; for --out they are read twice, so pipes are not taken",
           257, tokenizer::max_vocabulary)
      .conflicts_with({"tokenizer", "encode-only"})
      .add("min-pair-count", &options.min_pair_count, "N",
           "for --train-bpe: pairs that are there less often become no token", 1)
      .require("--train-bpe", [&options] { return options.train_bpe.has_value(); })
      .add("append-eos", &options.append_eos, "end each document with the end-of-document token")
      .conflicts_with({"save-tokenizer"})
      .add("min-chars", &options.min_chars, "N", "leave out documents of fewer characters", 0)
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("max-chars", &options.max_chars, "N", "leave out documents of more characters", 1)
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("deduplicate", &options.deduplicate, "of documents that are equal keep the first")
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("val-fraction", &options.val_fraction, "FRACTION",
           "part of the documents for validation, at least one, or the tail of the only one; 0 for none", 0,
           1)
      .conflicts_with({"encode-only", "save-tokenizer"})
      .choice(
          "val-by", &options.val_by,
          "order: the last documents of the final order validate; digest: each by its own digest, so that "
          "it stays on its side as data are added")
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("shuffle", &options.shuffle, "shuffle the documents; without it they keep the input's order")
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("seed", &options.seed, "N", "of the shuffle, and of --val-by digest")
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("shard-tokens", &options.shard_tokens, "N", "tokens in a shard", 1, std::int64_t{1} << 40)
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("threads", &options.threads, "N", "the output does not depend on it", 1, max_threads)
      .add("share-tasks", &options.share_tasks, std::string(share_tasks_help) + ", and where an input is -")
      .add_aliases("out", {"output", "output-dir", "out-dir", "output-path", "output-prefix"})
      .add_aliases("tokenizer", {"tokenizer-path", "tokenizer-model", "tokenizer-file", "vocab-file"})
      .add_aliases("train-bpe", {"vocab-size", "vocabulary-size"})
      .add_aliases("text-key", {"json-keys", "text-column", "text-field"})
      .add_aliases("append-eos", {"append-eod", "add-eos", "add-eod"})
      .add_aliases("turn-format", {"chat-template"})
      .add_aliases("val-fraction", {"val-split", "validation-split", "val-ratio", "test-size"})
      .add_aliases("document-separator", {"separator", "delimiter"})
      .add_aliases("shard-tokens", {"shard-size", "max-shard-size"})
      .add_aliases("deduplicate", {"dedup"})
      .add_aliases("threads", {"workers", "num-workers", "num-proc"})
      .add_unsupported({"input", "inputs", "input-file", "data", "files"},
                       "write inputs without an option: INPUT...")
      .example("dt-shard-data --out data/books books/ more.txt.d/ crawl.jsonl", "folders and files")
      .example("dt-shard-data --out data/books --tokenizer hf/tokenizer.json books/",
               "with a model's own tokenizer")
      .example("dt-shard-data --out data/books --train-bpe 32000 books/",
               "with one that is learned from them")
      .example("dt-shard-data --out data/crawl crawl-*.jsonl.gz texts.tar.zst", "compressed, and an archive")
      .example("zcat wiki.gz | dt-shard-data --out data/wiki --document-separator '\\n\\n\\n'",
               "standard input, split into documents")
      .example("dt-shard-data --encode-only --tokenizer hf/tokenizer.json <book.txt | wc -w",
               "how many tokens?")
      .example("dt-shard-data --out data/owt --format bin --tokenizer gpt2/tokenizer.json train.bin",
               "token ids of nanoGPT or llm.c")
      .example(
          "dt-shard-data --out data/chats --tokenizer hf/tokenizer.json --turn-format "
          "'<|im_start|>{role}\\n{content}<|im_end|>\\n' --loss-on assistant chats.jsonl",
          "conversations, of which the assistant's part is learned")
      .example("dt-shard-data --verify data/wiki", "is it whole?")
      .example("dt-shard-data --decode data/wiki/train-00000.h5:0:500", "read what a model will read")
      .check([&table, &options] {
        options.names_tokenizer = table.given("tokenizer");
        check_mode(table, options);
        check_inputs(options);
        check_format(table, options);
        check_says_format(table, options);
        check_values(table, options);
        if (options.decode) parse_range(*options.decode);
        options.task = task_of(options);
      });
}

namespace {

/// Warns if the turn format differs from the model's chat template, by which other programs write
/// turns.
void warn_of_other_turns(const Options& options, const data::TurnFormat& turns, Console& console) {
  if (!turns.name.empty() || options.train_bpe || !file_exists(options.tokenizer)) return;
  const std::string why = data::turn_mismatch(turns, options.tokenizer);
  if (!why.empty())
    console.warn(
        "--turn-format differs from the chat_template that programs use, {}; --turn-format {} follows it",
        why, as_chat_template);
}

}  // namespace

data::MakeOptions make_options(const Options& options, Console& console) {
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
