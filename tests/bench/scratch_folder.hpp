#pragma once
// A folder that a benchmark fills and leaves no trace of.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.hpp"

namespace dt_bench {

class ScratchFolder {
 public:
  /// Makes a folder in `parent`.
  /// Errors: environment, `parent` is missing or not writable.
  explicit ScratchFolder(const std::filesystem::path& parent) {
    std::string name = (parent / "dt-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw dt::environment_error("cannot make a folder in {}", parent.string());
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace dt_bench
