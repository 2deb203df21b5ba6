#include "model/hf/hf_config.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "model/hf/family.hpp"

namespace dt::model {

namespace {

using hf::Config;
using hf::Family;
using hf::Json;

/// Refuses settings that dt supports for no family.
void refuse_unsupported(const Config& config) {
  config.require("add_cross_attention", {false});
  config.require_absent("quantization_config");
}

SpecialTokens read_special(const Config& config) {
  return {config.token("bos_token_id"), config.tokens("eos_token_id"), config.token("pad_token_id")};
}

Json number_or_null(const std::optional<std::int64_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

/// Writes a single id without a list, as most files do.
Json ends_json(const std::vector<std::int64_t>& ends) {
  if (ends.empty()) return nullptr;
  return ends.size() == 1 ? Json(ends.front()) : Json(ends);
}

void write_special(const SpecialTokens& special, Json& json) {
  json["bos_token_id"] = number_or_null(special.bos);
  json["eos_token_id"] = ends_json(special.eos);
  if (special.pad) json["pad_token_id"] = *special.pad;
}

std::string torch_dtype(DType dtype) {
  const std::string_view name = traits_of(dtype).torch;
  DT_CHECK(!name.empty(), "a config.json names no weights of {}", dtype_name(dtype));
  return std::string(name);
}

/// The models that also see images, and the family of the text model within.
struct Wrapper {
  const char* model_type;
  const char* text_type;  // if the file does not say
};
constexpr Wrapper wrappers[] = {{"gemma3", "gemma3_text"}, {"mistral3", "mistral"}};

/// Returns the configuration of the text model. Members that it lacks are the whole model's.
Config text_config(const Config& config) {
  for (const Wrapper& wrapper : wrappers) {
    if (!config.has("model_type") || config.value("model_type") != wrapper.model_type) continue;
    if (!config.has("text_config")) config.missing("text_config");
    Json text = config.nested("text_config").members();
    if (!text.contains("model_type")) text["model_type"] = wrapper.text_type;
    for (const char* shared : {"tie_word_embeddings", "bos_token_id", "eos_token_id", "pad_token_id"}) {
      if (!text.contains(shared) && config.has(shared)) text[shared] = config.value(shared);
    }
    return Config(text, config.origin() + ": text_config");
  }
  return config;
}

}  // namespace

std::vector<std::int64_t> parse_generation_ends(std::string_view json, const std::string& origin) {
  return Config(parse_json_object(json, {origin}), origin).tokens("eos_token_id");
}

ModelSpec parse_hf_config(std::string_view json, const std::string& origin) {
  const Config config = text_config(Config(parse_json_object(json, {origin}), origin));
  std::string allowed;
  for (const Family* family : hf::families()) {
    if (config.has("model_type") && config.value("model_type") == family->model_type) {
      refuse_unsupported(config);
      ModelSpec spec = family->read(config);
      spec.family = family->model_type;
      spec.special = read_special(config);
      hf::refuse_absurd_size(spec, origin);
      return spec;
    }
    allowed += (allowed.empty() ? "" : ", ") + Json(family->model_type).dump();
  }
  if (config.has("model_type")) config.refuse("model_type", allowed);
  throw Error(ErrorKind::input, fmt::format("{}: model_type is missing", origin), "allowed: " + allowed);
}

std::string hf_config(const ModelSpec& spec, DType weights) {
  const Family* const family = hf::find_family(spec.family);
  DT_CHECK(family != nullptr, "no config.json for the family '{}'", spec.family);
  Json json = {{"architectures", {family->architecture}}, {"model_type", family->model_type}};
  json.update(family->write(spec));
  write_special(spec.special, json);
  if (!spec.special.pad) json["pad_token_id"] = nullptr;  // some classes have a default of their own
  json["tie_word_embeddings"] = spec.tied;
  json["torch_dtype"] = torch_dtype(weights);
  json["use_cache"] = true;
  std::string text = json.dump(2) + "\n";
  DT_CHECK(parse_hf_config(text, "hf_config") == spec, "a spec that a {} config.json cannot express",
           spec.family);
  return text;
}

std::string hf_generation_config(const SpecialTokens& special, std::string_view given,
                                 const std::string& origin) {
  Json json;
  if (given.empty()) {
    write_special(special, json);
  } else {
    json = parse_json_object(given, {origin});
    json["eos_token_id"] = ends_json(special.eos);
  }
  return json.dump(2) + "\n";
}

}  // namespace dt::model
