#include "train/start/inheritance.hpp"

#include <algorithm>
#include <array>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "data/read/mixture.hpp"
#include "model/model_spec.hpp"
#include "optim/optimizer.hpp"

namespace dt::train {

namespace {

std::string absolute_path(const std::string& path) {
  return fs::absolute(path).lexically_normal().string();
}

/// Returns "" if the absolute text would parse as another mixture, as below a folder named "x=1,y".
std::string absolute_mixture(const std::string& text) {
  const std::vector<data::MixtureSource> sources = data::parse_mixture(text);
  if (sources.size() == 1 && sources[0].folder == fs::path(text)) return absolute_path(text);
  std::vector<std::string> absolute;
  for (const data::MixtureSource& source : sources)
    absolute.push_back(fmt::format("{}={}", absolute_path(source.folder.string()), source.weight));
  const std::string joined = fmt::format("{}", fmt::join(absolute, ","));
  std::vector<data::MixtureSource> read;
  try {
    read = data::parse_mixture(joined);
  } catch (const Error&) {  // a folder's name parses as several
    return "";
  }
  const bool is_same =
      std::equal(read.begin(), read.end(), sources.begin(), sources.end(),
                 [](const data::MixtureSource& a, const data::MixtureSource& b) {
                   return a.folder == absolute_path(b.folder.string()) && a.weight == b.weight;
                 });
  return is_same ? joined : "";
}

}  // namespace

const std::vector<InheritanceRule>& inheritance_rules() {
  using enum Inheritance;
  static const std::vector<InheritanceRule> before_hyper_parameters = {
      {"model", training, NameMatching::model},
      {"data", training, NameMatching::mixture},
      {"stage-dir", never, NameMatching::path},
      {"stage-limit", never},
      {"run", never, NameMatching::path},
      {"init-from", never, NameMatching::path},
      {"seed", training},
      {"steps", training},
      {"tokens", training},
      {"epochs", training},
      {"sequence-length", training},
      {"mask-documents", training},
      {"global-batch", training},
      {"micro-batch", training},
      {"grad-lanes", training},
      {"threads", never},
      {"device", never},
      {"precision", training},
      {"grad-dtype", training},
      {"reduce-dtype", training},
      {"reduce-order", training},
      {"matmul", training},
      {"loss-scale", training},
      {"recompute", training},
      {"tp", layout},
      {"sequence-parallel", layout, NameMatching::nothing, "tp"},
      {"tp-overlap-chunks", layout, NameMatching::nothing, "tp"},
      {"cp", layout},
      {"placement", never},
      {"pp", layout},
      {"pp-schedule", layout, NameMatching::nothing, "pp"},
      {"virtual-stages", layout, NameMatching::nothing, "pp-schedule"},
      {"stage-units", layout, NameMatching::nothing, "virtual-stages"},
      {"zero", layout},
      {"zero-group", layout, NameMatching::nothing, "zero"},
      {"overlap", training},
      {"comm-bucket-bytes", training},
      {"comm", never},
      {"comm-timeout", never},
      {"lr", training},
      {"schedule", training},
      {"min-lr", training},
      {"warmup-steps", training},
      {"decay-steps", training},
      {"decay-shape", training},
      {"final-steps", training},
      {"lr-reference-batch", training},
      {"optimizer", training},
  };
  static const std::vector<InheritanceRule> behind_hyper_parameters = {
      {"moments", training},
      {"ema", training},
      {"lr-scale", training},
      {"no-decay", training},
      {"mup-base-width", training},
      {"mup-base-head-dim", training},
      {"clip-norm", training},
      {"z-loss", training},
      {"qk-clip", training},
      {"save-every", cadence},
      {"background-save", cadence},
      {"checkpoint-writers-per-node", never},
      {"checkpoint-local", never, NameMatching::path},
      {"encrypt-copies", never},
      {"flush-every", cadence},
      {"keep-last", cadence},
      {"keep-every", cadence},
      {"resume", never, NameMatching::checkpoint},
      {"eval-every", cadence},
      {"eval-batches", cadence},
      {"log-every", cadence},
      {"peak-flops", never},
      {"profile", never},
      {"eval-only", never},
      {"logits-out", never, NameMatching::path},
      {"logits-sequences", never},
      {"dry-run", never},
      {"compare-layouts", never},
      {"show-schedule", never},
      {"svg", never, NameMatching::path},
      {"roofline", never},
      {"rank-flops", never},
      {"link-bandwidth", never},
      {"node-bandwidth", never},
      {"ranks", never},
      {"ranks-per-node", never},
  };
  static const std::vector<InheritanceRule> rules = [] {
    std::vector<InheritanceRule> all = before_hyper_parameters;
    for (const optim::HyperParameter& parameter : optim::hyper_parameters())
      all.push_back({parameter.name, training});
    all.insert(all.end(), behind_hyper_parameters.begin(), behind_hyper_parameters.end());
    return all;
  }();
  return rules;
}

const InheritanceRule& inheritance_rule(const std::string& option) {
  const std::vector<InheritanceRule>& kinds = inheritance_rules();
  const auto found = std::ranges::find(kinds, option, &InheritanceRule::name);
  DT_CHECK(found != kinds.end(), "the inheritance rules lack --{}", option);
  return *found;
}

bool replaces(const std::string& given, const std::string& other) {
  static constexpr std::array ends = {"steps", "tokens", "epochs"};
  const auto is_end = [](const std::string& name) {
    return std::find(ends.begin(), ends.end(), name) != ends.end();
  };
  return given != other && is_end(given) && is_end(other);
}

std::string absolute_value(const InheritanceRule& kind, const std::string& value) {
  if (value.empty() || kind.path_kind == NameMatching::nothing) return "";
  if (kind.path_kind == NameMatching::mixture) return absolute_mixture(value);
  const std::vector<std::string>& presets = model::preset_names();
  if (kind.path_kind == NameMatching::model && std::ranges::find(presets, value) != presets.end()) return "";
  if (kind.path_kind == NameMatching::checkpoint && (value == "auto" || value == "never")) return "";
  return absolute_path(value);
}

}  // namespace dt::train
