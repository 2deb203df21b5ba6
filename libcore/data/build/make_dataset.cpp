#include "data/build/make_dataset.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "base/text/utf8.hpp"
#include "data/build/document_spool.hpp"
#include "data/build/input_findings.hpp"
#include "data/build/shard_writer.hpp"
#include "data/build/split_rule.hpp"
#include "data/build/spool_writer.hpp"
#include "data/build/tokenizer_config.hpp"
#include "data/build/train_tokenizer.hpp"
#include "data/build/unfinished_dataset.hpp"
#include "data/input/input_ranges.hpp"

namespace dt::data {

namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> utf8_of_each(const std::vector<std::string>& words) {
  std::vector<std::string> texts;
  for (const std::string& word : words) texts.push_back(escape_invalid_utf8(word));
  return texts;
}

/// Returns the inputs and options that make a dataset, for its dataset.json.
Json options_of(const MakeOptions& options) {
  Json made = {{"tool", options.tool}, {"inputs", utf8_of_each(options.inputs)}};
  if (!options.input_list.empty()) made["input_list"] = escape_invalid_utf8(options.input_list);
  made["format"] = name_of(options.read.format);
  if (options.read.raw_type) made["token_type"] = name_of(*options.read.raw_type);
  made["text_key"] = escape_invalid_utf8(options.lines.text_key);
  made["document_separator"] = escape_invalid_utf8(options.read.document_separator);
  made["invalid"] = name_of(options.read.invalid);
  made["skip_bad_lines"] = options.lines.skip_bad;
  if (const auto& turns = options.lines.turns) {
    made["turn_format"] = escape_invalid_utf8(turns->name.empty() ? turns->before + "{content}" + turns->after
                                                                  : "chat-template " + turns->name);
    made["loss_on"] = utf8_of_each(turns->loss_on);
  }
  made["shuffle"] = options.shuffle;
  made["seed"] = options.seed;
  made["append_eos"] = options.append_eos;
  made["val_fraction"] = options.val_fraction;
  made["split_by"] = name_of(options.split_by);
  made["deduplicate"] = options.deduplicate;
  made["min_chars"] = options.min_chars;
  if (options.max_chars < no_chars) made["max_chars"] = options.max_chars;
  made["shard_tokens"] = options.shard_tokens;
  return made;
}

/// Returns the options as a JSON object.
std::string describe_origin(const MakeOptions& options) {
  return options_of(options).dump();
}

/// Returns the same, and the numbers of input issues and of documents that were left out.
std::string describe_origin(const MakeOptions& options, const InputIssues& issues,
                            const FilteredDocuments& left_out) {
  Json made = options_of(options);
  if (issues.invalid_sequences > 0) made["invalid_sequences"] = issues.invalid_sequences;
  if (issues.bad_lines > 0) made["bad_lines"] = issues.bad_lines;
  if (left_out.too_short > 0) made["too_short"] = left_out.too_short;
  if (left_out.too_long > 0) made["too_long"] = left_out.too_long;
  if (left_out.duplicates > 0) made["duplicates"] = left_out.duplicates;
  if (options.train_vocabulary > 0) made["train_bpe"] = options.train_vocabulary;
  return made.dump();
}

/// Returns whether a finished dataset's `made` names these options.
bool was_made_with(const std::string& made, const MakeOptions& options) {
  const JsonValue found = JsonValue::parse_object(made, {"how the dataset was made"});
  const Json asked = options_of(options);
  return std::all_of(asked.items().begin(), asked.items().end(), [&](const auto& item) {
    return found.has(item.key()) && found.at(item.key()).text() == item.value().dump();
  });
}

TokenStorage storage_of(const TokenizerIdentity& tokenizer, const MakeOptions& options) {
  const bool masks = options.lines.turns && options.lines.turns->masks_targets();
  return {tokenizer.fits_u16() && !masks ? DType::u16 : DType::u32, masks};
}

/// Checks early what commit() would check at the end, and more: only a dataset or an empty folder
/// may be replaced.
void check_replaceable(const fs::path& folder, bool overwrite) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(folder, ignored))) return;
  if (folder_exists(folder) && entries_of(folder).empty()) return;
  if (!overwrite) {
    throw Error(ErrorKind::input, fmt::format("{} already exists", folder.string()),
                "choose another --out, or replace it with --overwrite");
  }
  if (!path_exists(folder / dataset_file_name)) {
    throw Error(ErrorKind::input,
                fmt::format("{} is not a dataset and will not be overwritten", folder.string()),
                "choose another --out, or delete the folder first");
  }
}

/// Appends documents to the spool. Drops documents with too few or too many characters.
class Spooling {
 public:
  Spooling(const MakeOptions& options, SpoolWriter& spool) : options_(options), spool_(spool) {}

  void begin_chunk(std::uint64_t range, const EncodedChunk& chunk) {
    if (range_ != range) {
      end_range();
      spool_.begin_range(range);
      range_ = range;
    }
    issues_ += chunk.issues;
    roles_ += chunk.roles;
  }
  void append(const DocumentTokens& tokens) {
    spool_.append(tokens.ids);
    add_chars(tokens.chars);
    if (!tokens.ends_document) return;
    end_document();
    chars_ = 0;
  }
  void end_range() {
    if (range_)
      spool_.end_range(std::exchange(issues_, {}), std::exchange(left_out_, {}), std::exchange(roles_, {}));
    range_.reset();
  }

 private:
  void add_chars(std::uint64_t chars) {
    const bool counts = options_.min_chars > 0 || options_.max_chars < no_chars;
    if (chars == no_chars && counts) {
      throw Error(ErrorKind::input,
                  "--min-chars and --max-chars count characters, but the input holds token ids",
                  "remove these options");
    }
    if (chars != no_chars) chars_ += chars;
  }

  void end_document() {
    if (chars_ >= options_.min_chars && chars_ <= options_.max_chars) return spool_.end_document();
    ++(chars_ < options_.min_chars ? left_out_.too_short : left_out_.too_long);
    spool_.drop_document();
  }

  const MakeOptions& options_;
  SpoolWriter& spool_;
  std::optional<std::uint64_t> range_;
  InputIssues issues_;  // for the range, as are the next two members
  FilteredDocuments left_out_;
  SeenRoles roles_;
  std::uint64_t chars_ = 0;
};

/// Writes an empty file for a range whose files contain nothing to read.
void spool_nothing(SpoolWriter& spool, const fs::path& folder, std::uint64_t range) {
  if (path_exists(spool_file_path(folder, range))) return;
  spool.begin_range(range);
  spool.end_range({}, {});
}

/// Checks that every role of --loss-on occurs, since a misspelt role would not be learned. Checks
/// that there is any target: training without targets would have a loss of 0 to the end.
void check_targets(const DocumentSpool& spool, const MakeOptions& options) {
  if (options.lines.turns) check_all_met(options.lines.turns->loss_on, spool.roles());
  if (spool.has_targets()) return;
  const bool leaves_out = spool.filtered().too_short + spool.filtered().too_long > 0;
  throw Error(ErrorKind::input,
              fmt::format("no tokens to train on: all turns of the roles in --loss-on {} are empty{}",
                          fmt::join(options.lines.turns->loss_on, ","),
                          leaves_out ? " or in documents that --min-chars or --max-chars excludes" : ""),
              "give other roles that occur in the conversations");
}

/// The state that all tasks share.
struct Making {
  const MakeOptions& options;
  const Tokenizer& tokenizer;
  const InputRanges& ranges;
  const MakeProgress& progress;
};

SpoolOptions spool_options(const Making& making) {
  SpoolOptions options;
  if (making.options.shuffle) options.shuffle_seed = making.options.seed;
  options.dtype = storage_of(making.tokenizer.info(), making.options).dtype;
  return options;
}

/// Encodes the ranges that `wants` accepts. Skips ranges whose files exist, including those that
/// another task has made meanwhile.
void spool_ranges(const Making& making, const fs::path& folder,
                  const std::function<bool(std::uint64_t range)>& wants) {
  std::vector<std::uint64_t> taken;
  const auto walk = std::make_shared<RangeWalk>(making.ranges, [&](std::uint64_t range) {
    if (!wants(range) || path_exists(spool_file_path(folder, range))) return false;
    taken.push_back(range);
    return true;
  });
  SpoolWriter spool(folder, spool_options(making), making.options.threads);
  Spooling spooling(making.options, spool);
  EncodeWork work;
  work.inputs = [walk] { return walk->next(); };
  work.total_bytes = making.ranges.total_bytes();
  work.document = [&](const DocumentTokens& tokens) { spooling.append(tokens); };
  work.chunk = [&](std::uint64_t range, const EncodedChunk& chunk) { spooling.begin_chunk(range, chunk); };
  encode_inputs(making.options, making.tokenizer, work, [&](std::uint64_t done, std::uint64_t total) {
    making.progress(MakePhase::read, done, total);
  });
  spooling.end_range();
  spool.finish();
  for (const std::uint64_t range : taken) spool_nothing(spool, folder, range);
  spool.finish();
}

/// Encodes the task's share first, then all ranges that are still missing, because another task is
/// slower or has died.
void spool_inputs(const Making& making, const fs::path& folder) {
  const auto [number, count] = making.options.task;
  spool_ranges(making, folder, [&](std::uint64_t range) {
    return range % static_cast<std::uint64_t>(count) == static_cast<std::uint64_t>(number);
  });
  spool_ranges(making, folder, [](std::uint64_t) { return true; });
}

Error no_training_error() {
  return Error(ErrorKind::input, "all documents went to the validation split",
               "give more documents, or a smaller --val-fraction");
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

void write_shards(const fs::path& folder, const DocumentSpool& spool, const MakeOptions& options,
                  DatasetFile& dataset, const MakeProgress& progress) {
  const TokenStorage storage = storage_of(dataset.tokenizer, options);
  auto [train_plans, validation_plans] = plan_shards(spool, options);
  if (train_plans.empty()) throw no_training_error();
  ShardSeries train(folder, std::move(train_plans), dataset.tokenizer, storage, options.threads);
  ShardSeries validation(folder, std::move(validation_plans), dataset.tokenizer, storage, options.threads);
  SplitRule rule = split_rule(options, spool);
  std::uint64_t done = 0;
  spool.visit([&](const SpooledDocument& document) {
    ShardSeries* series = rule.next(document) == Split::train ? &train : &validation;
    series->begin_document();
    for (FileTokens tokens = document.run; tokens.bytes > 0;) {
      if (series->room() == 0) series = &validation;  // the tail of a single document
      const std::uint64_t count = std::min({tokens.bytes, series->room(), digest_block_bytes});
      series->append(tokens.prefix(count));
      tokens = tokens.suffix(count);
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

Error nothing_left_error(const MakeOptions& options, const FilteredDocuments& left_out) {
  if (left_out.too_short + left_out.too_long > 0) {
    return Error(ErrorKind::input, "--min-chars and --max-chars exclude every document",
                 "change these options, or give other documents");
  }
  return no_text_error(options);
}

void check_can_be_shared(const InputRanges& ranges, const MakeOptions& options) {
  if (!ranges.has_pipe() || (options.task.count == 1 && !options.resumes)) return;
  const char* why =
      options.resumes ? "--resume reads the inputs again" : "each task reads a part of the inputs";
  throw Error(ErrorKind::input, fmt::format("{}, but a pipe can be read only once", why),
              "give files instead of pipes");
}

/// Returns whether `folder` is a finished dataset that was made with these options.
bool is_made(const fs::path& folder, const MakeOptions& options) {
  if (!path_exists(folder / dataset_file_name)) return false;
  return was_made_with(read_dataset_file(folder).made, options);
}

InputRanges ranges_of(const MakeOptions& options, const MakeProgress& progress) {
  const auto idle = [&](auto...) { progress(MakePhase::read, 0, 0); };
  return InputRanges(all_inputs(options, idle), options.read, options.min_range_bytes, idle);
}

/// Returns the users that may read everything that the dataset derives from.
ReadAccess readers_of(const MakeOptions& options, const InputRanges& ranges,
                      const std::map<std::string, std::string>& beside) {
  ReadAccess readers = ranges.readers();
  if (path_exists(options.tokenizer)) readers &= ReadAccess::of(options.tokenizer);
  for (const auto& [name, text] : beside) {
    const fs::path file = fs::path(options.tokenizer).parent_path() / name;
    if (path_exists(file)) readers &= ReadAccess::of(file);
  }
  return readers;
}

}  // namespace

MadeDataset make_dataset(const fs::path& folder, const MakeOptions& options, const MakeProgress& progress) {
  check_replaceable(folder, options.overwrite);
  const auto tokenizer = tokenizer_of(options, progress);
  std::map<std::string, std::string> beside;
  if (options.train_vocabulary == 0 && tokenizer->info().name == file_tokenizer_name)
    beside = tokenizer_config_files(options.tokenizer, *tokenizer, options.warn);
  const InputRanges ranges = ranges_of(options, progress);
  check_can_be_shared(ranges, options);
  DatasetFile dataset;
  dataset.tokenizer = tokenizer->info();
  UnfinishedDataset unfinished(folder, {describe_origin(options), dataset.tokenizer, ranges.digest()},
                               options.resumes, options.step, readers_of(options, ranges, beside));
  spool_inputs({options, *tokenizer, ranges, progress}, unfinished.spool());

  DocumentSpool spool(unfinished.spool(), ranges.count(),
                      dtype_bytes(storage_of(dataset.tokenizer, options).dtype));
  if (options.deduplicate) spool.deduplicate(unfinished.spool());
  dataset.made = describe_origin(options, spool.issues(), spool.filtered());
  if (spool.num_documents() == 0) throw nothing_left_error(options, spool.filtered());
  check_targets(spool, options);
  write_shards(unfinished.path(), spool, options, dataset, progress);

  tokenizer->save(unfinished.path());
  for (const auto& [name, text] : beside) {
    File file = File::create(unfinished.path() / name);
    file.write(text);
    file.close();
  }
  write_dataset_file(unfinished.path(), dataset);
  if (!options.overwrite) ::rmdir(folder.c_str());  // removes an empty folder of that name; any other stays
  unfinished.commit(options.overwrite);
  return {dataset, spool.issues(), spool.filtered()};
}

bool help_to_make_dataset(const fs::path& folder, const MakeOptions& options, const MakeProgress& progress) {
  if (!options.overwrite) {
    if (is_made(folder, options)) return false;
    check_replaceable(folder, false);
  }
  const auto tokenizer = tokenizer_of(options, progress);
  const InputRanges ranges = ranges_of(options, progress);
  check_can_be_shared(ranges, options);
  const auto spool = UnfinishedDataset::join(
      folder, {describe_origin(options), tokenizer->info(), ranges.digest()}, options.resumes, options.step,
      options.helper_wait_s, [&] { progress(MakePhase::read, 0, 0); });
  if (!spool) {
    if (is_made(folder, options)) return false;
    throw Error(ErrorKind::usage,
                fmt::format("task {} waited {:.0f} s, but task 0 has not started {}", options.task.number,
                            options.helper_wait_s, folder.string()),
                "start all tasks with the same command, including --out, or use --no-share-tasks to let each "
                "task work alone");
  }
  try {
    spool_inputs({options, *tokenizer, ranges, progress}, *spool);
  } catch (const Error&) {
    if (path_exists(*spool)) throw;  // otherwise task 0 has finished, or has failed and reported why
  }
  return true;
}

}  // namespace dt::data
