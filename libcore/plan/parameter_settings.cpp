#include "plan/parameter_settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/ranges.h>
#include <set>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"

namespace dt::plan {

namespace {

using model::ParameterClass;

/// Returns the text of each class that has one, separated by commas.
template <class Text>
std::string join_classes(const Text& text_of) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : enum_names(ParameterClass{})) {
    if (std::string text = text_of(name, value); !text.empty()) texts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

/// Finds classes by name among those that may be set.
class ClassNames {
 public:
  /// Takes the classes of the model's parameters, of those that decay if `decaying`.
  ClassNames(const model::ParameterTable& table, const char* option, bool decaying) : option_(option) {
    for (int param = 0; param < static_cast<int>(table.params().size()); ++param) {
      if (!decaying || table.params()[static_cast<std::size_t>(param)].decays)
        classes_.insert(model::parameter_class(table, param));
    }
  }

  ParameterClass find(const std::string& name) const {
    const auto found = parse_name<ParameterClass>(name);
    if (found && classes_.contains(*found)) return *found;
    const std::string allowed = join_classes([&](std::string_view text, ParameterClass value) {
      return std::string(classes_.contains(value) ? text : "");
    });
    throw Error(
        ErrorKind::usage,
        found ? fmt::format("{} {}: the model has no such parameter that the option acts on", option_, name)
              : fmt::format("{}: \"{}\" is not a class of parameters", option_, name),
        "classes of this model: " + allowed);
  }

 private:
  const char* option_;
  std::set<ParameterClass> classes_;
};

double parse_factor(const std::string& item, std::string_view text) {
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(factor) && factor >= 0)
    return factor;
  throw usage_error("--lr-scale {}: the factor must be a number of at least 0", item);
}

}  // namespace

ParameterSettings::Update ParameterSettings::update_of(const model::ParameterTable& table, int param) const {
  const Class& own = (*this)[model::parameter_class(table, param)];
  const double by_width = mup.factors(table, param).lr;
  const bool decays = table.params()[to_index(param)].decays && own.decays;
  return {own.lr_scale * by_width, decays, 1 / by_width};
}

kernels::OptimizerStep ParameterSettings::Update::apply(kernels::OptimizerStep step) const {
  step.lr *= lr_scale;
  step.settings.weight_decay *= decays ? decay_scale : 0;
  return step;
}

std::string ParameterSettings::describe_lr_scale() const {
  return join_classes([this](std::string_view name, ParameterClass value) {
    const double scale = (*this)[value].lr_scale;
    return scale == 1 ? std::string() : fmt::format("{}={}", name, scale);
  });
}

std::string ParameterSettings::describe_no_decay() const {
  return join_classes([this](std::string_view name, ParameterClass value) {
    return std::string((*this)[value].decays ? "" : name);
  });
}

ParameterSettings parse_parameter_settings(const ParameterClassRequest& request,
                                           const model::ParameterTable& table) {
  ParameterSettings settings;
  const ClassNames all(table, "--lr-scale", false), decaying(table, "--no-decay", true);
  std::set<ParameterClass> scaled;
  for (const std::string& item : request.lr_scale) {
    const std::size_t sign = item.find('=');
    if (sign == std::string::npos)
      throw usage_error("--lr-scale {}: write CLASS=FACTOR, as in embedding=0.1", item);
    const ParameterClass c = all.find(item.substr(0, sign));
    if (!scaled.insert(c).second) throw usage_error("--lr-scale names {} twice", name_of(c));
    settings[c].lr_scale = parse_factor(item, std::string_view(item).substr(sign + 1));
  }
  if (request.no_decay == std::vector<std::string>{"none"}) return settings;
  for (const std::string& name : request.no_decay) settings[decaying.find(name)].decays = false;
  return settings;
}

}  // namespace dt::plan
