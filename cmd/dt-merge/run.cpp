#include "cmd/dt-merge/run.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "checkpoint/tokenizer_files.hpp"
#include "cmd/dt-merge/tokenizer.hpp"
#include "convert/export.hpp"
#include "model/parameter_table.hpp"

namespace dt::merge_tool {

namespace {

using convert::ExportOptions;
using convert::ExportResult;
using convert::ExportSource;

/// Returns whether the checkpoint contains its tokenizer's files.
bool keeps_tokenizer(const ExportSource& source) {
  return !checkpoint::tokenizer_file_names(source.manifest()).empty();
}

/// Warns if the end-of-text token changes. Checkpoints of earlier versions keep the one in the
/// model's file, whatever ends the data's documents.
void warn_of_changed_ends(const ExportSource& source, const ExportOptions& how, Console& console) {
  const model::SpecialTokens& before = source.manifest().model.special;
  const model::SpecialTokens after = convert::exported_model(source, how).special;
  if (before.eos.empty() || before.eos == after.eos) return;
  console.warn("eos_token_id is {} in the checkpoint and {} in the model: {} ends the data's documents",
               model::ends_text(before), model::ends_text(after), *how.end_of_text);
}

ExportOptions export_options(const Options& options, const ExportSource& source, Console& console) {
  ExportOptions result;
  result.dtype = options.dtype;
  result.clamp = options.clamp;
  result.with_optimizer = options.with_optimizer;
  if (options.max_shard_bytes) result.max_shard_bytes = static_cast<std::uint64_t>(*options.max_shard_bytes);
  result.overwrite = options.overwrite;
  const FoundTokenizer tokenizer = find_tokenizer(options.checkpoints.back(), source.manifest());
  result.end_of_text = tokenizer.end_of_text;
  if (result.end_of_text) warn_of_changed_ends(source, result, console);
  if (options.is_h5() || keeps_tokenizer(source)) return result;
  if (!tokenizer.file.empty()) result.files.push_back(tokenizer.file);
  if (!tokenizer.missing_reason.empty())
    console.warn("no tokenizer goes with the model: {}", tokenizer.missing_reason);
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
  return fmt::format("{} parameters of {}{}, {}{}", format_count(static_cast<std::uint64_t>(parameters)), of,
                     options.with_optimizer ? " with Adam's moments" : "", format_bytes(result.bytes),
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
    console.error("stopped by {}: nothing is left of {}", signal_name(interrupted.signal), options.out);
    return interrupted.exit_code();
  }
  const std::int64_t parameters = model::ParameterTable(source.manifest().model).num_parameters();
  const std::int64_t step = source.manifest().state.step;
  console.info("wrote {}: {}", options.out, summary(options, step, parameters, result));
  if (options.clamp)
    console.info("clamped {} of {} to the largest of {}", pluralize(result.clamped.values, "value"),
                 pluralize(result.clamped.tensors, "tensor"), option_name(result.dtype));
  if (console.json()) {
    const nlohmann::ordered_json object = {{"path", escape_invalid_utf8(options.out)},
                                           {"format", options.is_h5() ? "h5" : "hf"},
                                           {"step", step},
                                           {"parameters", parameters},
                                           {"bytes", result.bytes},
                                           {"tensors", result.num_tensors},
                                           {"shards", result.num_shards},
                                           {"dtype", option_name(result.dtype)},
                                           {"checkpoints", options.checkpoints.size()},
                                           {"tokenizer", !how.files.empty() || keeps_tokenizer(source)},
                                           {"clamped", result.clamped.values}};
    console.write_text(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  return 0;
}

}  // namespace dt::merge_tool
