#include "cmd/dt-merge/options.hpp"

#include "base/error.hpp"

namespace dt::merge_tool {

namespace {

void check(const Options& options) {
  if (options.checkpoints.empty()) {
    throw Error(ErrorKind::usage, "the checkpoint is missing", "expected dt-merge CKPT --out PATH");
  }
  if (options.checkpoints.size() > 1) {
    throw Error(ErrorKind::usage, fmt::format("'{}' is one checkpoint too many", options.checkpoints[1]),
                "expected dt-merge CKPT --out PATH");
  }
  if (options.out.empty()) {
    throw Error(ErrorKind::usage, "--out is missing", "name a new folder, or a file that ends in .h5");
  }
  if (options.out == "-") {
    const char* why =
        options.is_h5() ? "HDF5 cannot stream: name a file" : "--format hf makes a folder: name it";
    throw Error(ErrorKind::usage, "--out - (standard output) cannot hold a model", why);
  }
}

}  // namespace

bool Options::is_h5() const {
  return format == "h5" || (format.empty() && out.ends_with(".h5"));
}

OptionTable make_options(Options& options) {
  OptionTable table("dt-merge", "one model from a checkpoint's pieces, every byte of them verified.");
  table.usage("CKPT --out PATH [options]")
      .positional(&options.checkpoints, "CKPT", "a checkpoint, such as RUN/checkpoints/step-00001000.g1")
      .group("Output")
      .add("out", &options.out, "PATH", "the model's folder or file; it appears only when whole (required)")
      .choice("format", &options.format, {"hf", "h5"},
              "hf: a Hugging Face folder with config.json and model.safetensors; h5: one HDF5 file with "
              "/parameters/NAME; default: h5 where PATH ends in .h5, else hf")
      .add("overwrite", &options.overwrite, "replace PATH where it is a model")
      .example("dt-merge \"$(dt-checkpoint latest runs/a)\" --out model",
               "for transformers' from_pretrained(\"model\")")
      .example("dt-merge runs/a/checkpoints/step-00001000.g1 --out model.h5", "under dt's own names")
      .check([&options] { check(options); });
  return table;
}

}  // namespace dt::merge_tool
