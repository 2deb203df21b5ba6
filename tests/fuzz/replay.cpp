// The main of a fuzz target without libFuzzer: gives the target each file of the folders named.

#include <cstdio>
#include <filesystem>

#include "base/io/files.hpp"
#include "fuzz/fuzz.hpp"

int main(int count, char** folders) {
  int num_files = 0;
  for (int i = 1; i < count; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(folders[i])) {
      std::puts(entry.path().c_str());  // the last name printed is the file that fails
      std::fflush(stdout);
      const std::string bytes = dt::read_file(entry.path());
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++num_files;
    }
  }
  return num_files == 0 ? 1 : 0;  // an empty corpus tests nothing
}
