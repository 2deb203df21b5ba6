#include "cmd/dt-shard-data/options.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/cli/tasks.hpp"
#include "base/system/host.hpp"
#include "data/input/token_file.hpp"
#include "tokenizer/encode/scanners.hpp"
#include "tokenizer/encode/vocabulary.hpp"

namespace dt::shard_data {

namespace {

constexpr std::int64_t max_threads = 1024;

void add_modes(OptionTable& table, Options& options) {
  table.group("Mode")
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
      .details("In a shard that was made with --loss-on, ⟦ and ⟧ enclose the targets of the loss.");
}

void add_inputs(OptionTable& table, Options& options) {
  table.group("Input")
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
          "megatron: X.bin with X.idx, which states where documents end.");
}

/// Adds how inputs are read as documents and conversations. Continues the group of inputs.
void add_documents(OptionTable& table, Options& options) {
  table.add("text-key", &options.text_key, "KEY", "key of the text in a JSON line")
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
      .details("\\n, \\t, \\r and \\\\ are escapes.");
}

/// Adds what inputs may hold and need. Continues the group of inputs.
void add_input_limits(OptionTable& table, Options& options) {
  table
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
      .details("A larger input is an error.");
}

void add_tokenizer(OptionTable& table, Options& options) {
  table.group("Tokenizer")
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
      .conflicts_with({"save-tokenizer"});
}

void add_dataset(OptionTable& table, Options& options) {
  table.group("Documents and shards")
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
      .details(std::string(share_tasks_details) + " The default is also off if standard input is an input.");
}

/// Adds other tools' names for the options.
void add_foreign_option_names(OptionTable& table) {
  table.add_aliases("out", {"output", "output-dir", "out-dir", "output-path", "output-prefix"})
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
                       "name inputs without an option: dt-shard-data --out DIR INPUT...");
}

void add_examples(OptionTable& table) {
  table
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
      .example("dt-shard-data --decode data/wiki/train-00000.h5:0:500", "print tokens of a shard as text");
}

}  // namespace

OptionTable make_options(Options& options) {
  options.threads = std::min<std::int64_t>(available_cores(), max_threads);
  OptionTable table("dt-shard-data", "convert text or token ids to token shards for dt-train");
  table.usage("--out DIR [options] [INPUT...]")
      .usage("--encode-only [options] [INPUT...]")
      .usage("--save-tokenizer FILE --train-bpe N [options] [INPUT...]")
      .usage("--show DIR | --verify DIR | --decode SHARD:OFFSET:COUNT")
      .positional(&options.inputs, "INPUT",
                  "file, folder, quoted pattern ('in/*.gz'), or - for standard input (the default)");
  add_modes(table, options);
  add_inputs(table, options);
  add_documents(table, options);
  add_input_limits(table, options);
  add_tokenizer(table, options);
  add_dataset(table, options);
  add_foreign_option_names(table);
  add_examples(table);
  table.complete("tokenizer", {"bytes"})
      .complete("tokenizer-pattern", names_of<tokenizer::Pattern>())
      .complete("turn-format", {as_chat_template})
      .complete("token-type", names_in(data::raw_token_types))
      .describe_default("threads", "this process's cores")
      .everyday({"out", "tokenizer", "train-bpe", "text-key", "document-separator", "val-fraction", "resume",
                 "overwrite", "show", "verify"})
      .check([&options](const OptionTable& given) { check_options(given, options); });
  return table;
}

}  // namespace dt::shard_data
