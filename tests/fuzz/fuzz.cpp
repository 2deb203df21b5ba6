#include "fuzz/fuzz.hpp"

#include <unistd.h>

#include "base/io/files.hpp"

namespace dt_fuzz {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder() : path_(fs::temp_directory_path() / ("dt-fuzz-" + std::to_string(getpid()))) {
  fs::create_directories(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string ScratchFolder::put(const std::string& name, std::string_view content) const {
  dt::File file = dt::File::create(path_ / name);
  file.write(content);
  file.close();
  return path_ / name;
}

std::size_t MemorySource::read(std::span<char> out) {
  const std::size_t count = left_.copy(out.data(), out.size());
  left_.remove_prefix(count);
  return count;
}

}  // namespace dt_fuzz
