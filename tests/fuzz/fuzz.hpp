#pragma once
// Shared by the fuzz targets. A target takes any bytes: it reads them, or throws dt::Error{input}, which
// accepted() ignores. Anything else ends the process and is a bug.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "data/input/byte_source.hpp"

/// The entry that libFuzzer calls; each target defines it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace dt_fuzz {

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// Runs `read`; returns 0, as libFuzzer expects. Catches errors of the input; others pass.
template <class Read>
int accepted(Read read) {
  try {
    read();
  } catch (const dt::Error& error) {
    if (error.kind() != dt::ErrorKind::input) throw;
  }
  return 0;
}

/// Ends the process if a property that every input must have does not hold.
inline void require(bool holds, const char* what) {
  DT_CHECK(holds, "{}", what);
}

/// Removes the text before the first `separator` from the front and returns it; all text if there is none.
inline std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view taken = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

/// A folder of this process, removed at its end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  /// Writes a file and returns its path.
  std::string put(const std::string& name, std::string_view content) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A stream of bytes in memory.
class MemorySource final : public dt::data::ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : left_(bytes) {}
  std::size_t read(std::span<char> out) override;

 private:
  std::string_view left_;
};

}  // namespace dt_fuzz
