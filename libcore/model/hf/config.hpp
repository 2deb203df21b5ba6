#pragma once
// The members of a Hugging Face config.json. Errors are of kind input; they name the file, the key, the
// value and what is allowed.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace dt::model::hf {

using Json = nlohmann::ordered_json;

class Config {
 public:
  Config(const Json& json, std::string origin);

  /// Returns whether the member is present. A null member counts as absent, as in transformers.
  bool has(const std::string& key) const;
  bool is_null(const std::string& key) const;
  /// Returns a member that is present.
  const Json& value(const std::string& key) const;
  /// Returns a member that is an object. Errors within it name "key.member".
  Config nested(const std::string& key) const;
  const Json& members() const { return *json_; }
  /// Returns the members but one.
  Config without(const std::string& key) const;
  const std::string& origin() const { return origin_; }

  [[noreturn]] void refuse(const std::string& key, const std::string& allowed) const;
  [[noreturn]] void missing(const std::string& key) const;

  std::int64_t size(const std::string& key) const;
  std::int64_t size_or(const std::string& key, std::int64_t otherwise) const;
  /// Returns an integer from 0 on.
  std::int64_t count_or(const std::string& key, std::int64_t otherwise) const;
  double positive(const std::string& key) const;
  double positive_or(const std::string& key, double otherwise) const;
  /// Returns a list of `count` positive numbers.
  std::vector<double> positive_list(const std::string& key, std::int64_t count) const;
  bool flag_or(const std::string& key, bool otherwise) const;
  /// Returns token ids. The member may have none, one, or a list, such as Llama 3's end-of-text
  /// ids.
  std::vector<std::int64_t> tokens(const std::string& key) const;
  /// Returns the first of the ids.
  std::optional<std::int64_t> token(const std::string& key) const;

  /// Checks a setting that dt computes in one way only. It may be absent or equal one of the
  /// values.
  void require(const std::string& key, std::initializer_list<Json> values) const;
  void require_absent(const std::string& key) const;
  void require_divides(const std::string& divisor, std::int64_t d, const std::string& whole,
                       std::int64_t w) const;
  /// Returns whether a list with one setting for each layer has the same value for all.
  bool has_each(const std::string& key, const char* value) const;
  /// Checks a list with one setting for each layer. It may be absent or have one of the values for
  /// every layer.
  void require_each(const std::string& key, std::initializer_list<const char*> values) const;
  /// Reads a list with one of two settings for each layer. Returns whether each has the first.
  std::vector<bool> choices(const std::string& key, std::int64_t layers, const Json& first,
                            const Json& second) const;

 private:
  Config(const Json& json, std::string origin, std::string prefix);
  std::string path(const std::string& key) const { return prefix_ + key; }
  /// Returns a size. Sizes fit an int32, so that products of two never overflow.
  std::int64_t integer(const std::string& key, std::int64_t smallest) const;

  std::shared_ptr<const Json> json_;
  std::string origin_;
  std::string prefix_;
};

}  // namespace dt::model::hf
