#include "cmd/dt-shard-data/options.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "base/cli/tasks.hpp"
#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/text/suggest.hpp"
#include "data/input/token_file.hpp"
#include "tokenizer/encode/scanners.hpp"
#include "tokenizer/encode/vocabulary.hpp"

namespace dt::shard_data {

namespace {

using data::InputFormat;

constexpr std::int64_t max_threads = 1024;

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

void declare(OptionTable& table, Options& options) {
  options.threads = std::min<std::int64_t>(available_cores(), max_threads);
  table.usage("--out DIR [options] [INPUT...]")
      .usage("--encode-only [options] [INPUT...]")
      .usage("--save-tokenizer FILE --train-bpe N [options] [INPUT...]")
      .usage("--show DIR | --verify DIR | --decode SHARD:OFFSET:COUNT")
      .positional(&options.inputs, "INPUT",
                  "file, folder, quoted pattern ('in/*.gz'), or - for standard input (the default)")
      .group("Mode")
      .add("out", &options.out, "DIR", "create the dataset DIR; it appears only when complete")
      .details("The tasks of an srun step divide the work.")
      .add("overwrite", &options.overwrite, "replace an existing dataset DIR or tokenizer FILE")
      .conflicts_with({"encode-only"})
      .add("resume", &options.resume, "continue an interrupted run of the same command")
      .details(
          "With --resume an interrupted run keeps its work in .DIR.partial beside DIR, and the same command "
          "continues from there. The inputs cannot be pipes.")
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("encode-only", &options.encode_only,
           "print token ids, one document per line, instead of creating a dataset")
      .details(
          "The ids are those that a dataset would hold. With --json each line is an object {\"ids\":[…]}.")
      .add("save-tokenizer", &options.save_tokenizer, "FILE",
           "train a tokenizer with --train-bpe and write only its tokenizer.json, to FILE")
      .require("--train-bpe", [&options] { return options.train_bpe.has_value(); })
      .add("show", &options.show, "DIR", "print the splits, options, tokenizer and shards of a dataset")
      .add("verify", &options.verify, "DIR", "check every digest of a dataset; exit 5 if anything is damaged")
      .details("Standard output lists each damaged part.")
      .add("decode", &options.decode, "SHARD:OFFSET:COUNT",
           "print COUNT tokens of a shard file as text, starting at OFFSET")
      .details("In a shard that was made with --loss-on, ⟦ and ⟧ enclose the targets of the loss.")
      .group("Input")
      .add("input-list", &options.input_list, "FILE",
           "file that names more inputs, one per line; - for standard input")
      .details(
          "dt-shard-data treats these inputs like those on the command line. It decompresses and unpacks "
          "files (gzip, zstd, xz, lzma, lzip, bzip2, lz4, tar, cpio and zip), which it recognizes by their "
          "content. In folders it skips hidden files, follows links, and reads each folder once.")
      .choice("format", &options.format, "input format; auto recognizes it by name and content")
      .details(
          "auto recognizes JSON lines by name (.jsonl, .ndjson, .jsonl.gz, …) or by a first line that is an "
          "object with the text key. It recognizes token ids of NumPy and llm.c by their content. Other JSON "
          "is an error, and everything else is UTF-8 text.\n\n"
          "npy, bin and megatron are token ids. They need the --tokenizer that produced them, and its "
          "end-of-document token ends each document. npy: a one-dimensional array of integers. bin: ids "
          "alone, as nanoGPT writes them, or a file of llm.c; dt-shard-data never unpacks such files. "
          "megatron: X.bin with X.idx, which states where documents end.")
      .add("text-key", &options.text_key, "KEY", "key of the text in a JSON line")
      .add("turn-format", &options.turn_format, "FORMAT",
           "read JSON lines as conversations; FORMAT of a turn, or chat-template for the model's own format")
      .details(
          "Each line has a list \"messages\" of objects with a role and a content. dt-shard-data writes "
          "FORMAT once for each turn, with {role} and {content} replaced by those of the turn. \\n, \\t, \\r "
          "and \\\\ are escapes. Special tokens in FORMAT become single tokens; in contents they are plain "
          "text. Messages without text are skipped, and turns with weight 0 are not targets of the loss.\n\n"
          "chat-template takes the format from the chat template in the tokenizer's folder, which must be "
          "that of ChatML, Qwen 2, Llama 3 or Gemma.")
      .conflicts_with({"text-key"})
      .add("loss-on", &options.loss_on, "ROLES",
           "roles whose turns are targets of the loss; other tokens are context only")
      .details(
          "ROLES is a list, such as assistant,tool. The targets are the contents of the turns of these "
          "roles, and the text that follows {content} in FORMAT. Each role must occur in the inputs.")
      .require("--turn-format", [&options] { return options.turn_format.has_value(); })
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("document-separator", &options.document_separator, "STRING",
           "split text into documents at STRING; default: each file is a document")
      .details("\\n, \\t, \\r and \\\\ are escapes.")
      .choice("invalid", &options.invalid,
              "invalid UTF-8: fail, replace each sequence with U+FFFD, or skip it")
      .details("dt-shard-data reports the number of sequences that it replaces or skips.")
      .add("skip-bad-lines", &options.skip_bad_lines,
           "skip and count JSON lines that are not objects with a text")
      .add("token-type", &options.token_type,
           fmt::format("{}", fmt::join(names_in(data::raw_token_types), "|")),
           "type of the ids in --format bin files without a header; default: by vocabulary size")
      .details("The default is u16 for tokenizers with up to 65,536 tokens, otherwise u32.")
      .add("decompress-memory", &options.decompress_memory, "SIZE",
           "maximum memory to decompress a file; a file that needs more is an error", 1)
      .add("max-output-bytes", &options.max_output_bytes, "SIZE",
           "maximum size of an input after decompression and unpacking; default: no limit", 1)
      .details("A larger input is an error.")
      .group("Tokenizer")
      .add("tokenizer", &options.tokenizer, "FILE",
           "bytes (one token per byte of UTF-8), or a tokenizer file")
      .details(
          "The file is a Hugging Face tokenizer.json, a SentencePiece tokenizer.model (BPE), a Mistral "
          "tekken.json, or a tiktoken file of ranks.")
      .add("tokenizer-pattern", &options.tokenizer_pattern, "PATTERN",
           "pre-tokenization pattern for tiktoken ranks or --train-bpe: a name or a regular expression")
      .details(
          "The names are gpt2, cl100k, o200k, llama3, qwen2 and tekken. --train-bpe uses gpt2 by default.")
      .add("eos-token", &options.eos_token, "TEXT",
           "end-of-document token; default: the tokenizer's own, or <|endoftext|> for --train-bpe")
      .details("If tiktoken ranks are not a published encoding, TEXT becomes an additional token.")
      .add("train-bpe", &options.train_bpe, "N",
           "train a byte-pair encoding with N tokens on the inputs, and encode with it", 257,
           tokenizer::max_vocabulary)
      .details(
          "N includes the 256 bytes and the end-of-document token. With --out the inputs are read twice and "
          "cannot be pipes.")
      .conflicts_with({"tokenizer", "encode-only"})
      .add("min-pair-count", &options.min_pair_count, "N",
           "with --train-bpe: minimum count of a pair that becomes a token", 1)
      .require("--train-bpe", [&options] { return options.train_bpe.has_value(); })
      .add("append-eos", &options.append_eos, "append the end-of-document token to each document")
      .conflicts_with({"save-tokenizer"})
      .group("Documents and shards")
      .add("min-chars", &options.min_chars, "N", "filter out documents with fewer characters", 0)
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("max-chars", &options.max_chars, "N", "filter out documents with more characters", 1)
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("deduplicate", &options.deduplicate, "filter out documents that equal an earlier one")
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("val-fraction", &options.val_fraction, "FRACTION",
           "fraction of the documents for validation; 0: none", 0, 1)
      .details("At least one document is for validation. If there is only one document, its tail is.")
      .conflicts_with({"encode-only", "save-tokenizer"})
      .choice("val-by", &options.val_by,
              "how documents are chosen for validation: the last in order, or by digest")
      .details(
          "order takes the last documents, after shuffling. digest decides by each document's own digest, so "
          "that documents stay in their split when you add data.")
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("shuffle", &options.shuffle, "shuffle the documents, instead of keeping the input order")
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("seed", &options.seed, "N", "random seed for the shuffle and for --val-by digest")
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("shard-tokens", &options.shard_tokens, "N", "tokens per shard", 1, std::int64_t{1} << 40)
      .conflicts_with({"encode-only", "save-tokenizer"})
      .add("threads", &options.threads, "N", "number of threads; the output does not depend on it", 1,
           max_threads)
      .add("share-tasks", &options.share_tasks, share_tasks_help)
      .details(std::string(share_tasks_details) + " The default is also off if standard input is an input.")
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
                       "name inputs without an option: dt-shard-data --out DIR INPUT...")
      .example("dt-shard-data --out data/books books/ more.txt.d/ crawl.jsonl",
               "create a dataset from folders and files")
      .example("dt-shard-data --out data/books --tokenizer hf/tokenizer.json books/",
               "use the tokenizer of a model")
      .example("dt-shard-data --out data/books --train-bpe 32000 books/",
               "train a tokenizer on the same books")
      .example("dt-shard-data --out data/crawl crawl-*.jsonl.gz texts.tar.zst",
               "read compressed files and an archive")
      .example("zcat wiki.gz | dt-shard-data --out data/wiki --document-separator '\\n\\n\\n'",
               "split standard input into documents")
      .example("dt-shard-data --encode-only --tokenizer hf/tokenizer.json <book.txt | wc -w",
               "count the tokens of a text")
      .example("dt-shard-data --out data/owt --format bin --tokenizer gpt2/tokenizer.json train.bin",
               "convert token ids of nanoGPT or llm.c")
      .example(
          "dt-shard-data --out data/chats --tokenizer hf/tokenizer.json --turn-format "
          "'<|im_start|>{role}\\n{content}<|im_end|>\\n' --loss-on assistant chats.jsonl",
          "convert conversations, with the loss on the assistant's turns")
      .example("dt-shard-data --verify data/wiki", "check a dataset for damage")
      .example("dt-shard-data --decode data/wiki/train-00000.h5:0:500", "print tokens of a shard as text")
      .complete("tokenizer", {"bytes"})
      .complete("tokenizer-pattern", names_of<tokenizer::Pattern>())
      .complete("turn-format", {as_chat_template})
      .complete("token-type", names_in(data::raw_token_types))
      .describe_default("threads", "this process's cores")
      .everyday({"out", "tokenizer", "train-bpe", "text-key", "document-separator", "val-fraction", "resume",
                 "overwrite", "show", "verify"})
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

}  // namespace dt::shard_data
