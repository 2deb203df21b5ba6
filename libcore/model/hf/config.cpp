#include "model/hf/config.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dt::model::hf {

namespace {

constexpr double least = 1e-30, most = 1e30;  // numbers of fp32, as are their reciprocals

}  // namespace

Config::Config(const Json& json, std::string origin) : Config(json, std::move(origin), "") {}

Config::Config(const Json& json, std::string origin, std::string prefix)
    : json_(std::make_shared<const Json>(json)), origin_(std::move(origin)), prefix_(std::move(prefix)) {}

bool Config::has(const std::string& key) const {
  return json_->contains(key) && !value(key).is_null();
}
bool Config::is_null(const std::string& key) const {
  return json_->contains(key) && value(key).is_null();
}
const Json& Config::value(const std::string& key) const {
  return (*json_)[key];
}
Config Config::nested(const std::string& key) const {
  if (!value(key).is_object()) refuse(key, "an object");
  return Config(value(key), origin_, path(key) + ".");
}

Config Config::without(const std::string& key) const {
  Json rest = *json_;
  rest.erase(key);
  return Config(rest, origin_, prefix_);
}

void Config::refuse(const std::string& key, const std::string& allowed) const {
  throw Error(ErrorKind::input, fmt::format("{}: {} is {}", origin_, path(key), value(key).dump()),
              "allowed: " + allowed);
}
void Config::missing(const std::string& key) const {
  throw Error(ErrorKind::input, fmt::format("{}: {} is missing", origin_, path(key)),
              "dt needs it to determine the model's size");
}

std::int64_t Config::size(const std::string& key) const {
  if (!has(key)) missing(key);
  return integer(key, 1);
}
std::int64_t Config::size_or(const std::string& key, std::int64_t otherwise) const {
  return has(key) ? integer(key, 1) : otherwise;
}
std::int64_t Config::count_or(const std::string& key, std::int64_t otherwise) const {
  return has(key) ? integer(key, 0) : otherwise;
}
double Config::positive(const std::string& key) const {
  if (!has(key)) missing(key);
  return positive_or(key, 0);
}
double Config::positive_or(const std::string& key, double otherwise) const {
  if (!has(key)) return otherwise;
  const double number = value(key).is_number() ? value(key).get<double>() : 0;
  if (!(number >= least && number <= most)) refuse(key, fmt::format("a number from {} to {}", least, most));
  return number;
}
std::vector<double> Config::positive_list(const std::string& key, std::int64_t count) const {
  if (!has(key)) missing(key);
  const auto is_usable = [](const Json& v) {
    return v.is_number() && v.get<double>() >= least && v.get<double>() <= most;
  };
  const Json& list = value(key);
  if (!list.is_array() || static_cast<std::int64_t>(list.size()) != count ||
      !std::all_of(list.begin(), list.end(), is_usable))
    refuse(key, fmt::format("a list of {} numbers from {} to {}", count, least, most));
  return list.get<std::vector<double>>();
}
bool Config::flag_or(const std::string& key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!value(key).is_boolean()) refuse(key, "true, false");
  return value(key).get<bool>();
}
std::vector<std::int64_t> Config::tokens(const std::string& key) const {
  if (!has(key)) return {};
  const Json list = value(key).is_array() ? value(key) : Json::array({value(key)});
  // Some files use −1 for none.
  const auto is_id = [](const Json& id) {
    return id.is_number_integer() && id.get<double>() >= -1 &&
           id.get<double>() <= std::numeric_limits<std::uint32_t>::max();
  };
  if (!std::all_of(list.begin(), list.end(), is_id)) refuse(key, "a token id, a list of token ids, null");
  return list.get<std::vector<std::int64_t>>();
}
std::optional<std::int64_t> Config::token(const std::string& key) const {
  const std::vector<std::int64_t> ids = tokens(key);
  return ids.empty() ? std::nullopt : std::optional(ids.front());
}

void Config::require(const std::string& key, std::initializer_list<Json> values) const {
  if (!has(key)) return;
  std::string allowed;
  for (const Json& v : values) {
    if (value(key) == v) return;
    allowed += (allowed.empty() ? "" : ", ") + v.dump();
  }
  refuse(key, allowed);
}
void Config::require_absent(const std::string& key) const {
  if (has(key)) refuse(key, "null");
}
void Config::require_divides(const std::string& divisor, std::int64_t d, const std::string& whole,
                             std::int64_t w) const {
  if (w % d == 0) return;
  throw Error(ErrorKind::input,
              fmt::format("{}: {} is {} and {} is {}", origin_, path(whole), w, path(divisor), d),
              fmt::format("{} must divide {}", divisor, whole));
}
bool Config::has_each(const std::string& key, const char* each) const {
  const auto same = [each](const Json& v) { return v == each; };
  return value(key).is_array() && std::all_of(value(key).begin(), value(key).end(), same);
}
void Config::require_each(const std::string& key, std::initializer_list<const char*> values) const {
  if (!has(key)) return;
  std::string allowed;
  for (const char* each : values) {
    if (has_each(key, each)) return;
    allowed += fmt::format("{}\"{}\"", allowed.empty() ? "" : " or ", each);
  }
  refuse(key, allowed + " for every layer");
}
std::vector<bool> Config::choices(const std::string& key, std::int64_t layers, const Json& first,
                                  const Json& second) const {
  std::vector<bool> is_first;
  for (const Json& v : value(key)) {
    if (v == first || v == second) is_first.push_back(v == first);
  }
  if (value(key).is_array() && is_first.size() == value(key).size() &&
      static_cast<std::int64_t>(is_first.size()) == layers)
    return is_first;
  refuse(key, fmt::format("{} or {} for each of {} layers", first.dump(), second.dump(), layers));
}

std::int64_t Config::integer(const std::string& key, std::int64_t smallest) const {
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  if (!value(key).is_number_integer() || value(key).get<double>() < static_cast<double>(smallest) ||
      value(key).get<double>() > static_cast<double>(largest))
    refuse(key, fmt::format("an integer from {} to {}", smallest, largest));
  return value(key).get<std::int64_t>();
}

}  // namespace dt::model::hf
