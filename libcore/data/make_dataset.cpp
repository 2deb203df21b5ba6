#include "data/make_dataset.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "data/document_spool.hpp"
#include "data/shard_writer.hpp"
#include "data/split_rule.hpp"
#include "data/target_flag.hpp"
#include "data/train_tokenizer.hpp"

namespace dt::data {

namespace {

constexpr std::uint32_t largest_u16_vocabulary = 65536;

TokenStorage storage_of(const TokenizerInfo& tokenizer, const MakeOptions& options) {
  const bool masks = options.lines.turns && options.lines.turns->masks_targets();
  const bool fits = tokenizer.vocabulary_size <= largest_u16_vocabulary;
  return {fits && !masks ? DType::u16 : DType::u32, masks};
}

/// Refuses early what commit() would refuse at the end, and more: only a dataset or an empty folder is
/// replaced.
void check_replaceable(const fs::path& folder, bool overwrite) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(folder, ignored))) return;
  if (fs::is_directory(folder, ignored) && fs::is_empty(folder, ignored)) return;
  if (!overwrite) {
    throw Error(ErrorKind::input, fmt::format("{} exists already", folder.string()),
                "give another --out, or --overwrite to replace it");
  }
  if (!fs::exists(folder / dataset_file_name, ignored)) {
    throw Error(ErrorKind::input,
                fmt::format("{} is not a dataset, so it is not overwritten", folder.string()),
                "give another --out, or remove it yourself");
  }
}

/// Parts of documents into the spool, without documents of too few or too many characters.
class Spooling {
 public:
  Spooling(const MakeOptions& options, DocumentSpool& spool) : options_(options), spool_(spool) {}

  void append(const DocumentPart& part) {
    has_targets_ = has_targets_ || std::ranges::any_of(part.ids, is_target);
    spool_.append(part.ids);
    add_chars(part.chars);
    if (!part.ends_document) return;
    end_document();
    chars_ = 0;
  }
  const LeftOut& left_out() const { return left_out_; }
  bool has_targets() const { return has_targets_; }

 private:
  void add_chars(std::uint64_t chars) {
    const bool counts = options_.min_chars > 0 || options_.max_chars < no_chars;
    if (chars == no_chars && counts) {
      throw Error(ErrorKind::input, "token ids are no characters, which --min-chars and --max-chars count",
                  "leave these options out");
    }
    if (chars != no_chars) chars_ += chars;
  }

  void end_document() {
    if (chars_ >= options_.min_chars && chars_ <= options_.max_chars) return spool_.end_document();
    ++(chars_ < options_.min_chars ? left_out_.too_short : left_out_.too_long);
    spool_.drop_document();
  }

  const MakeOptions& options_;
  DocumentSpool& spool_;
  std::uint64_t chars_ = 0;
  LeftOut left_out_;
  bool has_targets_ = false;
};

/// Training on nothing but what is read would be a loss of 0, to the end.
void check_targets(const Spooling& spooling, const DocumentSpool& spool, const MakeOptions& options) {
  if (spooling.has_targets() || spool.num_documents() == 0) return;
  throw Error(ErrorKind::input,
              fmt::format("there is nothing to learn: no conversation has a turn of --loss-on {}",
                          fmt::join(options.lines.turns->loss_on, ",")),
              "name roles that the conversations have");
}

std::pair<Flaws, LeftOut> spool_inputs(const MakeOptions& options, const Tokenizer& tokenizer,
                                       DocumentSpool& spool, const MakeProgress& progress) {
  Spooling spooling(options, spool);
  const Flaws flaws = encode_inputs(
      options, tokenizer, [&](const DocumentPart& part) { spooling.append(part); },
      [&](std::uint64_t done, std::uint64_t total) { progress(MakePhase::read, done, total); });
  spool.finish();
  check_targets(spooling, spool, options);
  LeftOut left_out = spooling.left_out();
  left_out.duplicates = spool.num_duplicates();
  return {flaws, left_out};
}

Error no_training_error() {
  return Error(ErrorKind::input, "all documents are for validation", "give more, or a lower --val-fraction");
}

SplitRule split_rule(const MakeOptions& options, const DocumentSpool& spool) {
  return SplitRule(options.split_by, options.val_fraction, options.seed, spool);
}

using ShardPlans = std::array<std::vector<ShardPlan>, all_splits.size()>;

ShardPlans plan_shards(const DocumentSpool& spool, const MakeOptions& options) {
  SplitRule rule = split_rule(options, spool);
  ShardPlanner train(Split::train, options.shard_tokens);
  ShardPlanner validation(Split::validation, options.shard_tokens);
  spool.visit([&](const SpooledDocument& document) {
    ShardPlanner& planner = rule.next(document) == Split::train ? train : validation;
    planner.begin_document();
    planner.advance(document.tokens - rule.validation_tail());
  });
  validation.advance(rule.validation_tail());
  return {train.finish(), validation.finish()};
}

void write_shards(const fs::path& folder, DocumentSpool& spool, const MakeOptions& options,
                  DatasetFile& dataset, const MakeProgress& progress) {
  const TokenStorage storage = storage_of(dataset.tokenizer, options);
  auto [train_plans, validation_plans] = plan_shards(spool, options);
  if (train_plans.empty()) throw no_training_error();
  ShardSeries train(folder, std::move(train_plans), dataset.tokenizer, storage, options.threads);
  ShardSeries validation(folder, std::move(validation_plans), dataset.tokenizer, storage, options.threads);
  SplitRule rule = split_rule(options, spool);
  ShardSeries* series = &train;
  std::uint64_t done = 0;
  spool.drain(
      [&](const SpooledDocument& document) {
        series = rule.next(document) == Split::train ? &train : &validation;
        series->begin_document();
      },
      [&](TokenRun tokens) {
        while (tokens.bytes > 0) {
          if (series->room() == 0) series = &validation;  // a single document's tail
          const std::uint64_t count = std::min({tokens.bytes, series->room(), digest_block_bytes});
          series->append(tokens.first(count));
          tokens = tokens.from(count);
          done += count / dtype_bytes(storage.dtype);
          progress(MakePhase::write, done, spool.num_tokens());
        }
      });
  train.finish(Split::train, dataset);
  validation.finish(Split::validation, dataset);
}

std::unique_ptr<Tokenizer> tokenizer_of(const MakeOptions& options, const MakeProgress& progress) {
  if (options.train_vocabulary == 0) return make_tokenizer(options);
  check_readable_again(options);
  return trained_tokenizer(train_tokenizer(options, progress));
}

std::string made_by(const MakeOptions& options, const Flaws& flaws, const LeftOut& left_out) {
  constexpr const char* formats[] = {"auto", "text", "jsonl", "npy", "bin", "megatron"};
  constexpr const char* invalid[] = {"fail", "replace", "skip"};
  nlohmann::ordered_json made = {{"tool", options.tool}, {"inputs", options.inputs}};
  if (!options.input_list.empty()) made["input_list"] = options.input_list;
  made["format"] = formats[static_cast<std::size_t>(options.read.format)];
  made["text_key"] = options.lines.text_key;
  made["document_separator"] = options.read.document_separator;
  made["invalid"] = invalid[static_cast<std::size_t>(options.read.invalid)];
  made["skip_bad_lines"] = options.lines.skip_bad;
  if (const auto& turns = options.lines.turns) {
    made["turn_format"] = turns->before + "{content}" + turns->after;
    made["loss_on"] = turns->loss_on;
  }
  made["shuffle"] = options.shuffle;
  made["seed"] = options.seed;
  made["append_eos"] = options.append_eos;
  made["val_fraction"] = options.val_fraction;
  made["split_by"] = options.split_by == SplitBy::order ? "order" : "digest";
  made["deduplicate"] = options.deduplicate;
  made["min_chars"] = options.min_chars;
  if (options.max_chars < no_chars) made["max_chars"] = options.max_chars;
  made["shard_tokens"] = options.shard_tokens;
  if (flaws.invalid_sequences > 0) made["invalid_sequences"] = flaws.invalid_sequences;
  if (flaws.bad_lines > 0) made["bad_lines"] = flaws.bad_lines;
  if (left_out.too_short > 0) made["too_short"] = left_out.too_short;
  if (left_out.too_long > 0) made["too_long"] = left_out.too_long;
  if (left_out.duplicates > 0) made["duplicates"] = left_out.duplicates;
  if (options.train_vocabulary > 0) made["train_bpe"] = options.train_vocabulary;
  // A name need not be UTF-8, but JSON must be.
  return made.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Error nothing_left_error(const MakeOptions& options, const LeftOut& left_out) {
  if (left_out.too_short + left_out.too_long > 0) {
    return Error(ErrorKind::input, "all documents have too few or too many characters",
                 "give others, or another --min-chars or --max-chars");
  }
  return no_text_error(options);
}

}  // namespace

MadeDataset make_dataset(const fs::path& folder, const MakeOptions& options, const MakeProgress& progress) {
  check_replaceable(folder, options.overwrite);
  const auto tokenizer = tokenizer_of(options, progress);
  DatasetFile dataset;
  dataset.tokenizer = tokenizer->info();

  AtomicDirectory directory(folder);
  const fs::path spool_folder = directory.path() / "spool";
  std::error_code error;
  if (!fs::create_directory(spool_folder, error))
    throw system_error(error.value(), "create", spool_folder.string());
  SpoolOptions spool_options;
  if (options.shuffle) spool_options.shuffle_seed = options.seed;
  spool_options.deduplicates = options.deduplicate;
  spool_options.dtype = storage_of(dataset.tokenizer, options).dtype;
  DocumentSpool spool(spool_folder, spool_options);
  const auto [flaws, left_out] = spool_inputs(options, *tokenizer, spool, progress);
  dataset.made = made_by(options, flaws, left_out);
  if (spool.num_documents() == 0) throw nothing_left_error(options, left_out);
  write_shards(directory.path(), spool, options, dataset, progress);
  fs::remove_all(spool_folder, error);
  if (error) throw system_error(error.value(), "remove", spool_folder.string());

  tokenizer->save(directory.path());
  write_dataset_file(directory.path(), dataset);
  if (!options.overwrite) ::rmdir(folder.c_str());  // an empty folder may stand there; any other stays
  directory.commit(options.overwrite);
  return {dataset, flaws, left_out};
}

}  // namespace dt::data
