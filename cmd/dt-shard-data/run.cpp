#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/cli/tasks.hpp"
#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/files.hpp"
#include "base/io/json.hpp"
#include "base/numeric/digest.hpp"
#include "base/system/signals.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "cmd/dt-shard-data/options.hpp"
#include "data/build/train_tokenizer.hpp"
#include "data/read/token_dataset.hpp"
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
      const bool is_in_bytes = phase == data::MakePhase::count || phase == data::MakePhase::read;
      bar_.emplace(console_.progress(std::string(name_of(phase)), total, is_in_bytes ? "B" : "tokens"));
      phase_ = phase;
      total_ = total;  // 0 while inputs are being listed
    }
    bar_->set(done);
  }

 private:
  Console& console_;
  StopSignals signals_;
  data::MakePhase phase_ = data::MakePhase::read;
  std::uint64_t total_ = 0;
  std::optional<Progress> bar_;
};

std::string split_table(const data::DatasetFile& dataset) {
  Rows rows = {{"split", "documents", "tokens", "shards"}};
  const bool has_targets = dataset.targets().has_value();
  if (has_targets) rows.front().emplace_back("targets");
  for (const data::Split split : data::all_splits) {
    const auto shards = std::count_if(dataset.shards.begin(), dataset.shards.end(),
                                      [&](const data::ShardEntry& shard) { return shard.split == split; });
    const data::SplitEntry& entry = dataset.split(split);
    rows.push_back({std::string(name_of(split)), format_count(entry.documents), format_count(entry.tokens),
                    format_count(static_cast<std::uint64_t>(shards))});
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

/// Returns "documents filtered out: 3 too short, 12 duplicates\n", or "".
std::string left_out_text(const Counts& counts) {
  std::string text;
  for (const auto& [why, count] : counts) {
    std::string words = why;
    std::replace(words.begin(), words.end(), '_', ' ');
    text +=
        fmt::format("{}{} {}", text.empty() ? "documents filtered out: " : ", ", format_count(count), words);
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
    console.error("stopped by {}; {}", signal_name(interrupted.signal), remains);
    return interrupted.exit_code();
  }
}

void warn_of_fewer_tokens(const Options& options, const data::TokenizerIdentity& tokenizer,
                          Console& console) {
  if (options.train_bpe && tokenizer.vocabulary_size < *options.train_bpe) {
    console.warn("the inputs yield a vocabulary of {} tokens, not the {} of --train-bpe",
                 tokenizer.vocabulary_size, *options.train_bpe);
  }
}

int save_tokenizer(const Options& options, Console& console) {
  const std::string& path = *options.save_tokenizer;
  if (file_exists(path) && !options.overwrite)
    throw Error(ErrorKind::input, path + " already exists",
                "give another name, or --overwrite to replace it");
  require_parent_folder(path);
  AtomicFile file(path);
  File target = file.open();  // fails before the work if the file cannot be created
  std::string text;
  const auto signal = stopped_by_signal(path + " was not written", console, [&](MakeProgressBars& bars) {
    text = data::train_tokenizer(dataset_options(options, console), std::ref(bars));
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
    const bool helped = data::help_to_make_dataset(*options.out, dataset_options(options, console),
                                                   [&](auto...) { signals.check(); });
    if (!helped) console.warn("task {} had no work to do", options.task.number);
    return 0;
  } catch (const Interrupted& interrupted) {
    return interrupted.exit_code();
  }
}

int make_dataset(const Options& options, Console& console) {
  if (options.task.number > 0) return suggest_dataset_options(options, console);
  data::MadeDataset made;
  const std::string remains = options.resume ? fmt::format("run the command again to continue from {}",
                                                           partial_path(*options.out).string())
                                             : *options.out + " was not written";
  const auto signal = stopped_by_signal(remains, console, [&](MakeProgressBars& bars) {
    made = data::make_dataset(*options.out, dataset_options(options, console), std::ref(bars));
  });
  if (signal) return *signal;
  const data::DatasetFile& dataset = made.dataset;
  warn_of_fewer_tokens(options, dataset.tokenizer, console);
  if (!console.json()) {
    console.print("{}{}{}digest {}\n", split_table(dataset),
                  describe_input_issues(made.issues, options.invalid),
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
  console.print("tokenizer {}, {} tokens, end of document {}\n", printable_line(tokenizer.name),
                format_count(tokenizer.vocabulary_size),
                tokenizer.eos ? std::to_string(*tokenizer.eos) : "none");
  console.print("digest {}\n", to_hex(dataset.content_digest()));
  const Json made = parse_json_object(dataset.made, {folder});
  for (const auto& [key, value] : made.items()) console.print("{} {}\n", printable_line(key), value.dump());
  Rows rows = {{"file", "tokens", "documents", "size", "digest"}};
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
    console.print("{}: ok\n", printable_line(folder));
  } else {
    for (const data::DatasetProblem& problem : problems) console.print("{}\n", printable_line(problem.what));
  }
  if (problems.empty()) return 0;
  const auto damage = std::ranges::find(problems, false, &data::DatasetProblem::is_unreadable);
  if (damage == problems.end())
    throw Error(ErrorKind::environment,
                fmt::format("cannot read all of {}: {}", folder, problems.front().what));
  throw Error(ErrorKind::verification, fmt::format("{} is damaged: {}", folder, damage->what),
              "create the dataset again, or restore the damaged files from a copy");
}

}  // namespace

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
