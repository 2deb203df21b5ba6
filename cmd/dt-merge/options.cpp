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
  return Error(ErrorKind::usage, fmt::format("--average {}", average), expected);
}

double parse_number(const std::string& average, std::string_view text) {
  double value = 0;
  const std::string_view digits = trim(text);
  const auto end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value))
    throw invalid_average(average, fmt::format("'{}' is not a number", text));
  return value;
}

std::vector<double> parse_weights(const std::string& average, const std::string& list, std::size_t count) {
  std::vector<double> weights;
  for (const std::string& text : split(list, ',')) weights.push_back(parse_number(average, text));
  if (weights.size() != count) {
    throw invalid_average(average,
                          fmt::format("it has {} weights for {} checkpoints: give one each, in their order",
                                      weights.size(), count));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (std::abs(sum - 1) > 1e-6)
    throw invalid_average(average, fmt::format("its weights sum to {}, expected 1", sum));
  return weights;
}

std::vector<double> exponential_weights(const std::string& average, const std::string& text,
                                        std::size_t count) {
  const double decay = parse_number(average, text);
  if (!(decay > 0 && decay <= 1))
    throw invalid_average(average, "expected a decay above 0 and up to 1, such as ema=0.9");
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
  throw invalid_average(average, "expected uniform, weights=W1,W2,… or ema=DECAY");
}

/// Types by their names in --dtype and --precision.
constexpr auto types = subset<DType::f32, DType::bf16, DType::f16>(precision_names);

void check_checkpoints(Options& options) {
  const std::size_t count = options.checkpoints.size();
  if (count == 0) {
    throw Error(ErrorKind::usage, "the checkpoint is missing", "expected dt-merge CKPT --out PATH");
  }
  if (options.average.empty()) {
    if (count == 1) return;
    throw Error(ErrorKind::usage, fmt::format("'{}' is one checkpoint too many", options.checkpoints[1]),
                "several become one model with --average, such as --average uniform");
  }
  if (options.with_optimizer) {
    throw Error(ErrorKind::usage, "--with-optimizer does not go with --average",
                "an optimizer's state belongs to the weights of one step: averaged weights have none");
  }
  options.weights = average_weights(options.average, count);
}

void check_output(const Options& options) {
  if (options.out.empty()) {
    throw Error(ErrorKind::usage, "--out is missing", "name a new folder, or a file that ends in .h5");
  }
  if (options.out == "-") {
    const char* why =
        options.is_h5() ? "HDF5 cannot stream: name a file" : "--format hf makes a folder: name it";
    throw Error(ErrorKind::usage, "--out - (standard output) cannot hold a model", why);
  }
  if (options.max_shard_bytes && options.is_h5()) {
    throw Error(ErrorKind::usage,
                fmt::format("--max-shard-bytes {}: h5 is one file", *options.max_shard_bytes),
                "leave it out, or choose --format hf");
  }
}

}  // namespace

OutputFormat Options::output_format() const {
  return format.value_or(out.ends_with(".h5") ? OutputFormat::h5 : OutputFormat::hf);
}

OptionTable make_options(Options& options) {
  OptionTable table(
      "dt-merge",
      "one model from a checkpoint's pieces; every byte that it reads of them is checked against the "
      "checkpoint's digests.");
  table.usage("CKPT --out PATH [options]")
      .usage("CKPT... --average HOW --out PATH [options]")
      .positional(&options.checkpoints, "CKPT", "a checkpoint, such as RUN/checkpoints/step-00001000.g1")
      .group("Output")
      .add("out", &options.out, "PATH", "the model's folder or file; it appears only when whole (required)")
      .choice(
          "format", &options.format,
          "hf: a Hugging Face folder with config.json, model.safetensors and the tokenizer of the run's data "
          "where it is found; h5: one HDF5 file with /parameters/NAME; default: h5 where PATH ends in .h5, "
          "else hf")
      .choice(
          "dtype", &options.dtype, types,
          "of the weights, rounded once, to nearest, ties to even; default: as the checkpoint stores them; "
          "values beyond the type's largest are refused")
      .add("clamp", &options.clamp,
           "weights beyond the largest value of their type become that value, and their number is told")
      .add(
          "max-shard-bytes", &options.max_shard_bytes, "SIZE",
          "hf: a larger model is cut into files of at most so many bytes of whole tensors, with an index; 0: "
          "never; default: 5G")
      .add("with-optimizer", &options.with_optimizer,
           "the optimizer's state too, as stored: optimizer.safetensors, or /KIND/NAME, as /adam_m/NAME")
      .add("overwrite", &options.overwrite, "replace PATH where it is a model")
      .add("share-tasks", &options.share_tasks,
           "leave the work to task 0 of one srun, all of whose tasks give this command; default: on where "
           "srun "
           "starts the tool itself, off in a shell or container that srun starts")
      .group("Averaging")
      .add("average", &options.average, "HOW",
           "the mean of several checkpoints of one model, in fp64, rounded once: uniform; "
           "weights=0.5,0.3,0.2, in "
           "their order, of sum 1; ema=DECAY: DECAY^k for the k-th before the last, which is the newest")
      .add_aliases("out", {"output", "output-dir", "save", "save-dir"})
      .add_aliases("dtype", {"torch-dtype", "precision"})
      .add_aliases("max-shard-bytes", {"max-shard-size"})
      .example("dt-merge \"$(dt-checkpoint latest runs/a)\" --out model",
               "for transformers' from_pretrained(\"model\")")
      .example("dt-merge runs/a/checkpoints/step-00001000.g1 --out model.h5", "under dt's own names")
      .example("dt-merge runs/a/checkpoints/step-*.g1 --average ema=0.9 --dtype bf16 --out smooth",
               "later checkpoints count more")
      .check([&options] {
        check_checkpoints(options);
        check_output(options);
        options.task = current_task(options.share_tasks);
      });
  return table;
}

}  // namespace dt::merge_tool
