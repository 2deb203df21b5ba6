#include "cmd/dt-merge/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text/text.hpp"

namespace dt::merge_tool {

namespace {

Error invalid_average(const std::string& average, const std::string& expected) {
  return Error(ErrorKind::usage, fmt::format("invalid value '{}' for option '--average'", average),
               "expected " + expected);
}

double parse_number(const std::string& average, std::string_view text) {
  double value = 0;
  const std::string_view digits = trim(text);
  const auto end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value))
    throw invalid_average(average, fmt::format("numbers; '{}' is not one", text));
  return value;
}

std::vector<double> parse_weights(const std::string& average, const std::string& list, std::size_t count) {
  std::vector<double> weights;
  for (const std::string& text : split(list, ',')) weights.push_back(parse_number(average, text));
  if (weights.size() != count) {
    throw invalid_average(average, fmt::format("one weight for each checkpoint, but there are {} for {}",
                                               weights.size(), pluralize(count, "checkpoint")));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (std::abs(sum - 1) > 1e-6)
    throw invalid_average(average, fmt::format("weights that sum to 1, not to {}", sum));
  return weights;
}

std::vector<double> exponential_weights(const std::string& average, const std::string& text,
                                        std::size_t count) {
  const double decay = parse_number(average, text);
  if (!(decay > 0 && decay <= 1))
    throw invalid_average(average, "a decay above 0 and up to 1, such as ema=0.9");
  std::vector<double> weights(count);
  double weight = 1;
  for (std::size_t i = count; i-- > 0; weight *= decay) weights[i] = weight;
  return weights;
}

/// Parses --average: returns one weight per checkpoint, in their order. The mean is Σ wᵢxᵢ ÷ Σ wᵢ.
///   uniform        1 each
///   weights=W,…    as given: one per checkpoint, finite, with sum 1 (to 1e-6)
///   ema=D          D^(n−1−i) for i = 0 … n−1, so that the last and newest counts 1; 0 < D ≤ 1
/// Errors: usage, naming the value.
std::vector<double> average_weights(const std::string& average, std::size_t num_checkpoints) {
  if (average == "uniform") return std::vector<double>(num_checkpoints, 1);
  if (average.starts_with("weights=")) return parse_weights(average, average.substr(8), num_checkpoints);
  if (average.starts_with("ema=")) return exponential_weights(average, average.substr(4), num_checkpoints);
  throw invalid_average(average, "uniform, weights=W1,W2,… or ema=DECAY");
}

/// Types by their names in --dtype and --precision.
constexpr auto types = subset<DType::f32, DType::bf16, DType::f16>(precision_names);

void check_checkpoints(Options& options) {
  const std::size_t count = options.checkpoints.size();
  if (count == 0) {
    throw Error(ErrorKind::usage, "no checkpoint was given", "expected dt-merge CKPT --out PATH");
  }
  if (options.average.empty()) {
    if (count == 1) return;
    throw Error(ErrorKind::usage,
                fmt::format("{} were given without --average", pluralize(count, "checkpoint")),
                "add --average uniform to average them, or give one checkpoint");
  }
  if (options.with_optimizer) {
    throw Error(ErrorKind::usage, "--with-optimizer cannot be combined with --average",
                "optimizer state belongs to the weights of one step; averaged weights have none");
  }
  options.weights = average_weights(options.average, count);
}

void check_output(const Options& options) {
  if (options.out.empty()) {
    throw Error(ErrorKind::usage, "--out is missing", "name a new folder, or a file that ends in .h5");
  }
  if (options.out == "-") {
    const char* why = options.is_h5() ? "HDF5 cannot be written to a pipe; name a file"
                                      : "--format hf writes a folder; name one";
    throw Error(ErrorKind::usage, "--out - (standard output) is not supported", why);
  }
  if (options.max_shard_bytes && options.is_h5()) {
    throw Error(ErrorKind::usage,
                "--max-shard-bytes cannot be combined with --format h5, which writes one file",
                "omit it, or use --format hf");
  }
}

}  // namespace

OutputFormat Options::output_format() const {
  return format.value_or(out.ends_with(".h5") ? OutputFormat::h5 : OutputFormat::hf);
}

namespace {

void add_output(OptionTable& table, Options& options) {
  table.group("Output")
      .add("out", &options.out, "PATH", "output folder or file (required); it appears only when complete")
      .details("dt-merge verifies every byte that it reads against the digests of the checkpoint.")
      .choice("format", &options.format,
              "hf: a Hugging Face folder; h5: one HDF5 file; default: h5 if PATH ends in .h5, otherwise hf")
      .details(
          "hf writes config.json, model.safetensors and, if it is found, the tokenizer of the run's data. h5 "
          "writes each parameter as /parameters/NAME.")
      .choice("dtype", &options.dtype, types,
              "data type of the weights; default: as stored in the checkpoint")
      .details(
          "Weights are rounded once, to nearest, ties to even. A weight beyond the largest value of the type "
          "is an error, unless --clamp is given.")
      .add("clamp", &options.clamp,
           "replace weights beyond the largest value of their type by that value, and report how many")
      .add("max-shard-bytes", &options.max_shard_bytes, "SIZE",
           "hf: maximum size of a weights file; 0: no limit; default: 5G")
      .details(
          "A larger model is split into several files of whole tensors, with an index that transformers "
          "reads.")
      .add("ema", &options.ema, "export the moving average that dt-train --ema keeps, instead of the weights")
      .add("with-optimizer", &options.with_optimizer, "also export the optimizer state, as stored")
      .details(
          "hf writes optimizer.safetensors. h5 writes /KIND/NAME beside the parameters, such as "
          "/adam_m/NAME.")
      .add("overwrite", &options.overwrite, "replace PATH if it already is a model")
      .add("share-tasks", &options.share_tasks,
           "let task 0 of an srun step do the work; default: on if srun starts the tool itself")
      .details(share_tasks_details);
}

void add_averaging(OptionTable& table, Options& options) {
  table.group("Averaging")
      .add("average", &options.average, "METHOD",
           "average several checkpoints of one model: uniform, weights=W1,W2,… or ema=DECAY")
      .details(
          "The mean is computed in fp64 and rounded once.\n\n"
          "uniform: all checkpoints have the same weight. weights=0.5,0.3,0.2: one weight for each "
          "checkpoint, in the order of the arguments; the weights must sum to 1. ema=DECAY: an exponential "
          "moving average, in which the k-th checkpoint before the last one has the weight DECAY^k.");
}

/// Adds other tools' names for the options, and examples.
void add_names_and_examples(OptionTable& table) {
  table.add_aliases("out", {"output", "output-dir", "save", "save-dir"})
      .add_aliases("dtype", {"torch-dtype", "precision"})
      .add_aliases("max-shard-bytes", {"max-shard-size"})
      .example("dt-merge \"$(dt-checkpoint latest runs/a)\" --out model",
               "export the newest checkpoint for transformers' from_pretrained(\"model\")")
      .example("dt-merge runs/a/checkpoints/step-00001000.g1 --out model.h5",
               "export to HDF5, with dt's parameter names")
      .example("dt-merge runs/a/checkpoints/step-*.g1 --average ema=0.9 --dtype bf16 --out smooth",
               "average checkpoints, later ones with more weight, and store bf16");
}

}  // namespace

OptionTable make_options(Options& options) {
  OptionTable table("dt-merge", "export checkpoints as one model, for transformers or as HDF5");
  table.usage("CKPT --out PATH [options]")
      .usage("CKPT... --average METHOD --out PATH [options]")
      .positional(&options.checkpoints, "CKPT", "a checkpoint, such as RUN/checkpoints/step-00001000.g1");
  add_output(table, options);
  add_averaging(table, options);
  add_names_and_examples(table);
  table.complete("average", {"uniform", "weights=", "ema="})
      .everyday({"out", "format", "dtype", "overwrite", "average"})
      .check([&options](const OptionTable&) {
        check_checkpoints(options);
        check_output(options);
        options.task = current_task(options.share_tasks);
      });
  return table;
}

}  // namespace dt::merge_tool
