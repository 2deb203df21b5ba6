#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/io/json.hpp"
#include "base/system/signals.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/tokenizer_files.hpp"
#include "cmd/dt-merge/options.hpp"
#include "convert/export.hpp"
#include "data/read/dataset_file.hpp"
#include "data/read/mixture.hpp"
#include "model/parameter_table.hpp"

namespace dt::merge_tool {

namespace {

using convert::ExportOptions;
using convert::ExportResult;
using convert::ExportSource;

/// The result of the search for a tokenizer: a tokenizer.json, or why there is none ("" if nothing leads to
/// one). If the data are found, also the token that ends their documents.
struct FoundTokenizer {
  std::filesystem::path file;
  std::string missing_reason;
  std::optional<std::int64_t> end_of_text;
};

/// Returns the last value of --data in the run's record, or "".
std::string data_of(const fs::path& run_record) {
  std::string data;
  try {
    const JsonValue record = JsonValue::parse_object(read_file(run_record), {run_record.string()});
    data = record.object("asked").string("data");
    for (const JsonValue& change : record.objects("changes")) {
      if (change.string("option") == "data") data = change.string("to");
    }
  } catch (const Error&) {  // another kind of run, or a torn record: neither names a dataset
  }
  return unescape_bytes(data);
}

/// Returns whether the datasets still have the digest. Relative paths are taken from `base`. Sets
/// `why_not` if they may not be read.
/// Errors: those of reading, except for files that are gone, have become something else, or may not
/// be read.
bool is_data(const fs::path& base, const std::vector<data::MixtureSource>& sources, std::uint64_t digest,
             std::string& why_not) {
  std::vector<std::uint64_t> contents, weights;
  try {
    for (const data::MixtureSource& source : sources) {
      contents.push_back(data::read_dataset_file(base / source.folder).content_digest());
      weights.push_back(source.weight);
    }
    return data::mixture_digest(contents, data::WeightedInterleave(weights).weights()) == digest;
  } catch (const Error& error) {
    const bool is_forbidden = error.error_number() == EACCES || error.error_number() == EPERM;
    if (!is_forbidden && !error.indicates_corruption()) throw;
    if (is_forbidden) why_not = error.message();
    return false;
  }
}

/// Finds the tokenizer of the dataset that run.json, two folders above the checkpoint, names last.
/// A relative path is tried as it stands, then from the folder that holds the run. The dataset must
/// match the manifest's digest.
/// Errors: those of reading, except for datasets that are gone, have changed or may not be read: a
/// model without its tokenizer is complete.
FoundTokenizer find_tokenizer(const fs::path& checkpoint, const checkpoint::Manifest& manifest) {
  std::error_code error;
  const fs::path run_folder = fs::canonical(checkpoint, error).parent_path().parent_path();
  if (error || !file_exists(run_folder / "run.json")) return {};
  const std::string data = data_of(run_folder / "run.json");
  if (data.empty()) return {};
  const std::vector<data::MixtureSource> sources = data::parse_mixture(data);
  std::string why_not = fmt::format("{} names the dataset {}, which is missing or has changed",
                                    (run_folder / "run.json").string(), data);
  for (const fs::path& base : {fs::path(), run_folder.parent_path()}) {
    const fs::path folder = base / sources.front().folder;  // all sources have the same tokenizer
    if (!is_data(base, sources, manifest.state.dataset_digest, why_not)) continue;
    const fs::path file = folder / data::tokenizer_file_name;
    if (!file_exists(file)) continue;
    return {file, "", data::read_dataset_file(folder).tokenizer.eos};
  }
  return {{}, why_not, std::nullopt};
}

/// Returns whether the checkpoint contains its tokenizer's files.
bool keeps_tokenizer(const ExportSource& source) {
  return !checkpoint::tokenizer_file_names(source.newest()).empty();
}

/// Warns if the end-of-text token changes. Checkpoints of earlier versions keep the one in the
/// model's file, whatever ends the data's documents.
void warn_of_changed_ends(const ExportSource& source, const ExportOptions& how, Console& console) {
  const model::SpecialTokens& before = source.manifest().model.special;
  const model::SpecialTokens after = convert::exported_model(source, how).special;
  if (before.eos.empty() || before.eos == after.eos) return;
  console.warn(
      "eos_token_id changes from {} (checkpoint) to {} (exported model), since token {} ends the training "
      "data's documents",
      model::ends_text(before), model::ends_text(after), *how.end_of_text);
}

ExportOptions export_options(const Options& options, const ExportSource& source, Console& console) {
  ExportOptions result;
  result.dtype = options.dtype;
  result.clamp = options.clamp;
  result.with_optimizer = options.with_optimizer;
  if (options.ema) result.weights = kernels::average_kind;
  if (options.max_shard_bytes) result.max_shard_bytes = static_cast<std::uint64_t>(*options.max_shard_bytes);
  result.overwrite = options.overwrite;
  const FoundTokenizer tokenizer = find_tokenizer(options.checkpoints.back(), source.manifest());
  result.end_of_text = tokenizer.end_of_text;
  if (result.end_of_text) warn_of_changed_ends(source, result, console);
  if (options.is_h5() || keeps_tokenizer(source)) return result;
  if (!tokenizer.file.empty()) result.files.push_back(tokenizer.file);
  if (!tokenizer.missing_reason.empty())
    console.warn("the tokenizer was not exported: {}", tokenizer.missing_reason);
  return result;
}

ExportResult write(const Options& options, const ExportSource& source, const ExportOptions& how,
                   Console& console, const StopSignals& signals) {
  Progress progress = console.progress("merging", convert::export_bytes(source, how), "B");
  const auto done = [&](std::uint64_t count) {
    signals.check();
    progress.advance(count);
  };
  return options.is_h5() ? convert::export_h5(source, options.out, how, done)
                         : convert::export_hf(source, options.out, how, done);
}

/// Returns "12,104 parameters of step 10, 47.3 KiB" or "… of the mean of 3 checkpoints, …".
std::string summary(const Options& options, std::int64_t step, std::int64_t parameters,
                    const ExportResult& result) {
  const std::size_t count = options.checkpoints.size();
  const std::string of =
      count == 1 ? fmt::format("step {}", step) : fmt::format("the mean of {} checkpoints", count);
  return fmt::format("{} parameters of {}{}{}, {}{}", format_count(static_cast<std::uint64_t>(parameters)),
                     options.ema ? "the average at " : "", of,
                     options.with_optimizer ? " with optimizer state" : "", format_bytes(result.bytes),
                     result.num_shards == 1 ? "" : fmt::format(" in {} shards", result.num_shards));
}

}  // namespace

int run(const Options& options, Console& console) {
  if (is_idle_task(options.task, console)) return 0;
  const StopSignals signals;  // must precede other threads
  if (options.is_h5()) require_parent_folder(options.out);
  const ExportSource source({options.checkpoints.begin(), options.checkpoints.end()}, options.weights);
  const ExportOptions how = export_options(options, source, console);
  ExportResult result;
  try {
    result = write(options, source, how, console, signals);
  } catch (const Interrupted& interrupted) {
    console.error("stopped by {}; {} was not written", signal_name(interrupted.signal), options.out);
    return interrupted.exit_code();
  }
  const std::int64_t parameters = model::ParameterTable(source.manifest().model).num_parameters();
  const std::int64_t step = source.manifest().state.step;
  console.info("wrote {}: {}", options.out, summary(options, step, parameters, result));
  if (options.clamp)
    console.info("clamped {} in {} to the largest {} value", pluralize(result.clamped.values, "value"),
                 pluralize(result.clamped.tensors, "tensor"), precision_name(result.dtype));
  if (console.json()) {
    const nlohmann::ordered_json object = {{"path", escape_invalid_utf8(options.out)},
                                           {"format", name_of(options.output_format())},
                                           {"step", step},
                                           {"parameters", parameters},
                                           {"bytes", result.bytes},
                                           {"tensors", result.num_tensors},
                                           {"shards", result.num_shards},
                                           {"dtype", precision_name(result.dtype)},
                                           {"checkpoints", options.checkpoints.size()},
                                           {"ema", options.ema},
                                           {"tokenizer", !how.files.empty() || keeps_tokenizer(source)},
                                           {"clamped", result.clamped.values}};
    console.write_text(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  return 0;
}

}  // namespace dt::merge_tool
