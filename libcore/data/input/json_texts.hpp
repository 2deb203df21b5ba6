#pragma once
// Fast extraction of texts from lines of JSON.

#include <memory>
#include <optional>
#include <string_view>

namespace dt::data {

/// Extracts texts.
/// Thread safety: one thread at a time.
class JsonTexts {
 public:
  JsonTexts();
  ~JsonTexts();

  /// Returns the string of the object's last member of this name, valid until the next call.
  /// Returns none if the line has no such member, and sometimes even if it has. The caller then
  /// uses the slower reader (json_line.hpp), which decides.
  std::optional<std::string_view> find(std::string_view line, std::string_view key);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace dt::data
