#pragma once
// Texts out of lines of JSON, as fast as memory gives them.

#include <memory>
#include <optional>
#include <string_view>

namespace dt::data {

/// For one thread at a time.
class JsonTexts {
 public:
  JsonTexts();
  ~JsonTexts();

  /// The string under the last of an object's keys of this name; it stays until the next call. Nothing where
  /// the line is no such object, and now and then where it is one: what says why not decides.
  std::optional<std::string_view> find(std::string_view line, std::string_view key);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace dt::data
