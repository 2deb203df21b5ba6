#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "base/cli/tasks.hpp"
#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/io/json.hpp"
#include "base/numeric/digest.hpp"
#include "base/system/signals.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "cmd/dt-shard-data/options.hpp"
#include "data/build/train_tokenizer.hpp"
#include "data/read/token_dataset.hpp"
#include "data/read/token_shard.hpp"
#include "data/read/verify_dataset.hpp"
#include "data/tokenizer.hpp"

namespace dt::shard_data {

namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

/// Returns JSON that is valid even if a model's text ends in the middle of a character.
std::string compact(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Shows one progress bar per phase of the work. Throws when a signal ends the work.
class MakeProgressBars {
 public:
  explicit MakeProgressBars(Console& console) : console_(console) {}
  void operator()(data::MakePhase phase, std::uint64_t done, std::uint64_t total) {
    signals_.check();
    if (!bar_ || phase != phase_ || total != total_) {
      bar_.reset();
      const auto [label, unit] = labels[static_cast<std::size_t>(phase)];
      bar_.emplace(console_.progress(label, total, unit));
      phase_ = phase;
      total_ = total;  // 0 while inputs are being listed
    }
    bar_->set(done);
  }

 private:
  /// Label and unit of each phase.
  static constexpr std::pair<const char*, const char*> labels[] = {
      {"counting words", "B"}, {"learning", "tokens"}, {"reading", "B"}, {"writing", "tokens"}};
  Console& console_;
  StopSignals signals_;
  data::MakePhase phase_ = data::MakePhase::read;
  std::uint64_t total_ = 0;
  std::optional<Progress> bar_;
};

std::string split_table(const data::DatasetFile& dataset) {
  Rows rows = {{"split", "documents", "tokens", "shards"}};
  const bool has_targets = dataset.targets().has_value();
  if (has_targets) rows.front().emplace_back("learned");
  for (const data::Split split : data::all_splits) {
    const auto shards = std::count_if(dataset.shards.begin(), dataset.shards.end(),
                                      [&](const data::ShardEntry& shard) { return shard.split == split; });
    const data::SplitEntry& entry = dataset.split(split);
    rows.push_back({std::string(data::split_name(split)), format_count(entry.documents),
                    format_count(entry.tokens), format_count(static_cast<std::uint64_t>(shards))});
    if (has_targets) rows.back().push_back(format_count(entry.targets.value_or(0)));
  }
  return format_table(rows);
}

/// Reasons with their counts.
using Counts = std::vector<std::pair<const char*, std::uint64_t>>;

/// Returns the counts above 0.
Counts counts_of(const data::FilteredDocuments& left_out) {
  Counts counts = {{"too_short", left_out.too_short},
                   {"too_long", left_out.too_long},
                   {"duplicates", left_out.duplicates}};
  std::erase_if(counts, [](const auto& count) { return count.second == 0; });
  return counts;
}

/// Returns "documents left out: 3 too short, 12 duplicates\n", or "".
std::string left_out_text(const Counts& counts) {
  std::string text;
  for (const auto& [why, count] : counts) {
    std::string words = why;
    std::replace(words.begin(), words.end(), '_', ' ');
    text += fmt::format("{}{} {}", text.empty() ? "documents left out: " : ", ", format_count(count), words);
  }
  return text.empty() ? text : text + "\n";
}

void add_input_issues(Json& summary, const data::InputIssues& issues) {
  if (issues.invalid_sequences > 0) summary["invalid_sequences"] = issues.invalid_sequences;
  if (issues.bad_lines == 0) return;
  summary["bad_lines"] = issues.bad_lines;
  summary["first_bad_line"] = escape_invalid_utf8(issues.first_bad_line);
}

/// Runs `work`. Returns the exit code if a signal ended it, else none. `remains` describes what is
/// left of it.
template <class Work>
std::optional<int> stopped_by_signal(const std::string& remains, Console& console, Work work) {
  try {
    MakeProgressBars bars(console);
    work(bars);
    return std::nullopt;
  } catch (const Interrupted& interrupted) {
    console.error("stopped by {}: {}", signal_name(interrupted.signal), remains);
    return interrupted.exit_code();
  }
}

void warn_of_fewer_tokens(const Options& options, const data::TokenizerIdentity& tokenizer,
                          Console& console) {
  if (options.train_bpe && tokenizer.vocabulary_size < *options.train_bpe) {
    console.warn("the text has pairs for {} tokens only, not {}", tokenizer.vocabulary_size,
                 *options.train_bpe);
  }
}

int save_tokenizer(const Options& options, Console& console) {
  const std::string& path = *options.save_tokenizer;
  if (file_exists(path) && !options.overwrite)
    throw Error(ErrorKind::input, path + " exists already",
                "give another name, or --overwrite to replace it");
  require_parent_folder(path);
  AtomicFile file(path);
  File target = file.open();  // fails before the work if the file cannot be created
  std::string text;
  const auto signal = stopped_by_signal("nothing is left of " + path, console, [&](MakeProgressBars& bars) {
    text = data::train_tokenizer(make_options(options, console), std::ref(bars));
  });
  if (signal) return *signal;
  target.write(text);
  target.close();
  file.commit(options.overwrite);
  const data::TokenizerIdentity info = data::trained_tokenizer(text)->info();
  warn_of_fewer_tokens(options, info, console);
  if (console.json()) {
    console.write_text(compact({{"vocabulary_size", info.vocabulary_size}, {"digest", to_hex(info.digest)}}));
  } else {
    console.print("{}\ndigest {}\n", pluralize(info.vocabulary_size, "token"), to_hex(info.digest));
  }
  return 0;
}

int suggest_dataset_options(const Options& options, Console& console) {
  const StopSignals signals;
  try {
    const bool helped = data::help_to_make_dataset(*options.out, make_options(options, console),
                                                   [&](auto...) { signals.check(); });
    if (!helped) console.warn("task {} found nothing to do", options.task.number);
    return 0;
  } catch (const Interrupted& interrupted) {
    return interrupted.exit_code();
  }
}

int make_dataset(const Options& options, Console& console) {
  if (options.task.number > 0) return suggest_dataset_options(options, console);
  data::MadeDataset made;
  const std::string remains =
      options.resume ? fmt::format("--resume goes on with {}", partial_path(*options.out).string())
                     : "nothing is left of " + *options.out;
  const auto signal = stopped_by_signal(remains, console, [&](MakeProgressBars& bars) {
    made = data::make_dataset(*options.out, make_options(options, console), std::ref(bars));
  });
  if (signal) return *signal;
  const data::DatasetFile& dataset = made.dataset;
  warn_of_fewer_tokens(options, dataset.tokenizer, console);
  if (!console.json()) {
    console.print("{}{}{}digest {}\n", split_table(dataset), describe_input_issues(made.issues, options),
                  left_out_text(counts_of(made.filtered)), to_hex(dataset.content_digest()));
    return 0;
  }
  Json summary = {{"documents", dataset.documents()},
                  {"tokens", dataset.tokens()},
                  {"shards", dataset.shards.size()},
                  {"train_tokens", dataset.split(data::Split::train).tokens},
                  {"val_tokens", dataset.split(data::Split::validation).tokens},
                  {"digest", to_hex(dataset.content_digest())}};
  if (const auto targets = dataset.targets()) summary["targets"] = *targets;
  add_input_issues(summary, made.issues);
  for (const auto& [why, count] : counts_of(made.filtered)) summary[why] = count;
  console.write_text(compact(summary));
  return 0;
}

int show(const std::string& folder, Console& console) {
  const data::TokenDataset opened(folder);  // fails unless the shards exist
  const data::DatasetFile dataset = data::read_dataset_file(folder);
  if (console.json()) {
    console.write_text(data::to_json(dataset, false) + "\n");
    return 0;
  }
  const data::TokenizerIdentity& tokenizer = dataset.tokenizer;
  console.print("tokenizer {}, {} tokens, {} ends a document\n", printable_line(tokenizer.name),
                format_count(tokenizer.vocabulary_size),
                tokenizer.eos ? std::to_string(*tokenizer.eos) : "none");
  console.print("digest {}\n", to_hex(dataset.content_digest()));
  const Json made = parse_json_object(dataset.made, {folder});
  for (const auto& [key, value] : made.items()) console.print("{} {}\n", printable_line(key), value.dump());
  Rows rows = {{"file", "tokens", "documents", "bytes", "digest"}};
  for (const data::ShardEntry& shard : dataset.shards) {
    rows.push_back({shard.file, format_count(shard.tokens), format_count(shard.documents),
                    format_count(shard.bytes), to_hex(shard.digest)});
  }
  console.print("\n{}\n{}", split_table(dataset), format_table(rows));
  return 0;
}

int verify(const std::string& folder, Console& console) {
  std::optional<Progress> bar;
  const std::vector<data::DatasetProblem> problems =
      data::verify_dataset(folder, [&](std::uint64_t done, std::uint64_t total) {
        if (!bar) bar.emplace(console.progress("verifying", total, "B"));
        bar->set(done);
      });
  bar.reset();
  if (console.json()) {
    Json texts = Json::array();
    for (const data::DatasetProblem& problem : problems) texts.push_back(escape_invalid_utf8(problem.what));
    console.write_text(compact({{"ok", problems.empty()}, {"problems", texts}}));
  } else if (problems.empty()) {
    console.print("{} is whole\n", printable_line(folder));
  } else {
    for (const data::DatasetProblem& problem : problems) console.print("{}\n", printable_line(problem.what));
  }
  if (problems.empty()) return 0;
  const auto damage = std::ranges::find(problems, false, &data::DatasetProblem::is_unreadable);
  if (damage == problems.end())
    throw Error(ErrorKind::environment,
                fmt::format("not all of {} can be read: {}", folder, problems.front().what));
  throw Error(ErrorKind::verification, fmt::format("{} is damaged: {}", folder, damage->what),
              "make the dataset again, or restore what is wrong from a copy");
}

/// Composes text from tokens. For people, targets stand between ⟦ and ⟧ if the shard masks some
/// tokens. For programs, it lists the stretches of targets and of other tokens.
class MarkedText {
 public:
  MarkedText(const data::Tokenizer& tokenizer, bool marks, bool lists)
      : tokenizer_(tokenizer), marks_(marks), lists_(lists) {}

  /// Appends labels. Those that are not targets are negative.
  void append(std::span<const std::int32_t> labels) {
    for (std::size_t begin = 0, end = 0; begin < labels.size(); begin = end) {
      const bool is_target = labels[begin] >= 0;
      while (end < labels.size() && (labels[end] >= 0) == is_target) ++end;
      append(labels.subspan(begin, end - begin), is_target);
    }
  }
  /// Returns the text appended since the last call.
  std::string take() { return std::exchange(text_, {}); }
  /// Returns the stretches of text, in order.
  Json parts() const { return parts_; }
  void finish() {
    if (is_open_) text_ += "⟧";
    is_open_ = false;
  }

 private:
  void append(std::span<const std::int32_t> labels, bool is_target) {
    std::vector<std::uint32_t> ids;
    for (const std::int32_t label : labels) ids.push_back(data::token_of(static_cast<std::uint32_t>(label)));
    const std::string text = tokenizer_.decode(ids);
    if (marks_ && is_target != is_open_) text_ += is_target ? "⟦" : "⟧";
    is_open_ = marks_ && is_target;
    text_ += text;
    if (!lists_) return;
    if (!parts_.empty() && parts_.back()["learned"] == is_target) {
      parts_.back()["text"] = parts_.back()["text"].get<std::string>() + text;
    } else {
      parts_.push_back({{"text", text}, {"learned", is_target}});
    }
  }

  const data::Tokenizer& tokenizer_;
  bool marks_;
  bool lists_;
  bool is_open_ = false;
  std::string text_;
  Json parts_ = Json::array();
};

int decode(const TokenRange& range, Console& console) {
  const data::TokenShard shard(range.shard);
  const data::TokenShardHeader& header = shard.header();
  if (range.offset > header.tokens || range.count > header.tokens - range.offset) {
    throw Error(
        ErrorKind::input,
        fmt::format("{} has no tokens {} to {}", range.shard, range.offset, range.offset + range.count),
        fmt::format("it has {}", header.tokens));
  }
  const auto tokenizer = data::open_tokenizer(fs::path(range.shard).parent_path(), header.tokenizer);
  constexpr std::uint64_t max_part = std::uint64_t{1} << 20;
  MarkedText text(*tokenizer, header.masks_targets && !console.json(),
                  header.masks_targets && console.json());
  for (std::uint64_t done = 0; done < range.count;) {
    std::vector<std::int32_t> labels(std::min(range.count - done, max_part));
    shard.read_labels(range.offset + done, labels);
    text.append(labels);
    done += labels.size();
    if (!console.json()) console.write_bytes(text.take());
  }
  text.finish();
  if (!console.json()) {
    console.write_bytes(text.take());
    return 0;
  }
  Json json = {{"shard", escape_invalid_utf8(range.shard)},
               {"offset", range.offset},
               {"count", range.count},
               {"text", text.take()}};
  if (header.masks_targets) json["parts"] = text.parts();
  console.write_text(compact(json));
  return 0;
}

}  // namespace

TokenRange parse_range(const std::string& text) {
  const Error error(ErrorKind::usage, fmt::format("invalid value '{}' for option '--decode'", text),
                    "expected SHARD:OFFSET:COUNT, such as data/train-00000.h5:0:200");
  // The path may contain colons.
  const std::size_t second = text.rfind(':');
  const std::size_t first =
      second == std::string::npos || second == 0 ? std::string::npos : text.rfind(':', second - 1);
  if (first == std::string::npos || first == 0) throw error;
  try {
    const std::int64_t offset = parse_count(text.substr(first + 1, second - first - 1));
    const std::int64_t count = parse_count(text.substr(second + 1));
    if (offset < 0 || count < 0) throw error;
    return {text.substr(0, first), static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(count)};
  } catch (const Error&) {
    throw error;
  }
}

std::string describe_input_issues(const data::InputIssues& issues, const Options& options) {
  std::string text;
  if (issues.invalid_sequences > 0) {
    text += fmt::format("{} of bytes that {} not UTF-8 {}\n", pluralize(issues.invalid_sequences, "sequence"),
                        plural_form(issues.invalid_sequences, "is", "are"),
                        options.invalid == data::InvalidUtf8::skip ? "left out" : "replaced");
  }
  if (issues.bad_lines > 0) {
    text += fmt::format("{} left out; the first: {}\n", pluralize(issues.bad_lines, "bad line"),
                        printable_line(issues.first_bad_line));
  }
  return text;
}

int run(const Options& options, Console& console) {
  if (options.out) return make_dataset(options, console);
  if (is_idle_task(options.task, console)) return 0;
  if (options.save_tokenizer) return save_tokenizer(options, console);
  if (options.show) return show(*options.show, console);
  if (options.verify) return verify(*options.verify, console);
  if (options.decode) return decode(parse_range(*options.decode), console);
  return encode_only(options, console);
}

}  // namespace dt::shard_data
