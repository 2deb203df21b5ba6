// make_checkpoint RUN STEP [setting=value...]: writes a checkpoint of a tiny model into a run directory and
// prints its path.
//   model=gpt2|llama
//   vocabulary=N       makes a large model: its embedding has 24 columns
//   continues=CKPT     claims a new generation that continues from CKPT, also if the run has none yet
//   generation=N       saves as an earlier generation: a zombie
//   seed=N             makes other values
//   parts=N            cuts each tensor into N pieces
//   writers=N          has N writers, each with its share of the elements in a file of its own
//   listed_files=N     lists the pieces of up to N files in the manifest; more have an index of pieces
//   divide=N           divides values by N: with 3, they need all bits of an fp32
//   perturb=TENSOR     changes the tensor's first weight by 0.5
//   poison=TENSOR      makes the tensor's first weight NaN
//   drop=TENSOR        leaves the tensor out
//   format_version=N   writes the version, of one digit, of another dt
// Values, also of moments, are multiples of 1/64 below 1 before they are changed or divided.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"
#include "checkpoint/share.hpp"
#include "checkpoint/writer.hpp"
#include "model/parameter_table.hpp"
#include "run/run_directory.hpp"

namespace {

using namespace dt;

class Settings {
 public:
  void set(const std::string& argument) {
    values_[argument.substr(0, argument.find('='))] = argument.substr(argument.find('=') + 1);
  }
  bool has(const std::string& name) const { return values_.contains(name); }
  /// Returns a setting's value; "" if it was not given.
  std::string operator[](const std::string& name) const { return has(name) ? values_.at(name) : ""; }

 private:
  std::map<std::string, std::string> values_;
};

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) {
    throw usage_error("'{}' is not a number", text);
  }
  return value;
}

model::ModelSpec tiny_model(const std::string& family) {
  model::ModelSpec s = model::load_model_spec(family == "llama" ? "llama-tiny" : "gpt2-124m");
  s.vocabulary = 97;
  s.layers = 2;
  s.hidden = 24;
  s.query_heads = s.key_value_heads = 4;
  s.head_dim = 6;
  s.mlp_hidden = 40;
  s.max_positions = 32;
  s.special = {96, {96}, {}};
  return s;
}

std::int64_t generation(const run::RunDirectory& run, const Settings& settings) {
  if (settings.has("generation")) return number(settings["generation"]);
  const std::vector<run::Generation> claimed = run.generations();
  if (!claimed.empty() && !settings.has("continues")) return claimed.back().number;
  const std::string continues = settings["continues"];
  const auto entry = checkpoint::parse_checkpoint_name(continues);
  return run.claim(continues, entry ? entry->step : 0).number;
}

std::vector<float> values_of(const model::ParamSpec& param, const std::string& kind,
                             const Settings& settings) {
  std::vector<float> values(static_cast<std::size_t>(param.shape.numel()));
  const std::size_t seed = settings.has("seed") ? static_cast<std::size_t>(number(settings["seed"])) : 0;
  const std::size_t salt = std::hash<std::string>()(param.name + kind) + seed * 7919;
  const auto divisor = settings.has("divide") ? std::stof(settings["divide"]) : 1.0f;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 31 + salt) % 64) / 64 / divisor;
  if (kind == checkpoint::kind_weights && settings["perturb"] == param.name) values[0] += 0.5f;
  if (kind == checkpoint::kind_weights && settings["poison"] == param.name) values[0] = std::nanf("");
  return values;
}

fs::path write(const fs::path& folder, const checkpoint::Manifest& manifest,
               std::span<const checkpoint::SourcePiece> pieces, int num_writers, const Settings& settings) {
  checkpoint::CheckpointTransaction unfinished(folder, manifest.state.step, manifest.generation);
  for (int w = 0; w < num_writers; ++w) {
    checkpoint::write_shard(unfinished.path(), manifest, w,
                            checkpoint::test::share_of(pieces, w, num_writers));
  }
  checkpoint::CommitOptions options;
  if (settings.has("listed_files"))
    options.max_files_with_list = static_cast<std::size_t>(number(settings["listed_files"]));
  return unfinished.commit(manifest, num_writers, options);
}

fs::path with_version(const fs::path& checkpoint, const std::string& version) {
  const fs::path path = checkpoint / checkpoint::manifest_name;
  const std::string known = "\"version\": 1";
  std::string text = read_file(path);
  text.resize(text.rfind("\"digest\""));
  text.replace(text.find(known), known.size(), "\"version\": " + version);
  write_file_atomically(path, text + fmt::format("\"digest\": \"{}\"\n}}\n", to_hex(digest(text))));
  return checkpoint;
}

fs::path make(const fs::path& path, std::int64_t step, const Settings& settings) {
  const run::RunDirectory run(path);
  run.create();
  checkpoint::Manifest manifest;
  manifest.state.step = step;
  manifest.state.samples_consumed = static_cast<std::uint64_t>(8 * step);
  manifest.state.sequence_length = 32;
  manifest.state.precision = "fp32";
  manifest.model = tiny_model(settings["model"]);
  if (settings.has("vocabulary")) manifest.model.vocabulary = number(settings["vocabulary"]);
  manifest.parent = settings["continues"];
  manifest.generation = generation(run, settings);
  const std::int64_t parts = settings.has("parts") ? number(settings["parts"]) : 1;
  const std::int64_t writers = settings.has("writers") ? number(settings["writers"]) : 1;
  manifest.mesh.dp = std::max(parts, writers);
  const model::ParameterTable table(manifest.model);
  std::deque<std::vector<float>> memory;
  std::vector<checkpoint::SourcePiece> pieces;
  for (const model::ParamSpec& param : table.params()) {
    if (settings["drop"] == param.name) continue;
    for (const char* kind :
         {checkpoint::kind_weights, checkpoint::kind_first_moment, checkpoint::kind_second_moment}) {
      std::vector<float>& values = memory.emplace_back(values_of(param, kind, settings));
      for (std::int64_t p = 0; p < parts; ++p) {
        Piece piece = Piece::whole(param.shape);
        piece.begin = param.shape.numel() * p / parts;
        piece.end = param.shape.numel() * (p + 1) / parts;
        pieces.push_back(
            {param.name, kind, piece,
             Tensor(values.data() + piece.begin, DType::f32, Shape{piece.numel()}, Device::host())});
      }
    }
  }
  const fs::path written =
      write(run.checkpoints_path(), manifest, pieces, static_cast<int>(writers), settings);
  return settings.has("format_version") ? with_version(written, settings["format_version"]) : written;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw usage_error("usage: make_checkpoint RUN STEP [setting=value...]");
    Settings settings;
    for (int i = 3; i < argc; ++i) settings.set(argv[i]);
    std::puts(make(argv[1], number(argv[2]), settings).c_str());
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "make_checkpoint: %s\n", error.message().c_str());
    return error.exit_code();
  }
}
