#include "model/golden_files.hpp"

#include <cstdlib>
#include <fmt/format.h>

namespace dt::test {

namespace fs = std::filesystem;

const std::vector<std::string>& golden_families() {
  static const std::vector<std::string> names{"qwen3",    "qwen3_yarn",      "gemma2",     "gemma3",
                                              "olmo2",    "olmo3",           "phi3_short", "phi3_long",
                                              "smollm3",  "granite",         "glm4",       "cohere2",
                                              "gpt_neox", "gpt_neox_serial", "ministral",  "ministral3"};
  return names;
}

fs::path golden_file(const std::string& name, DType dtype) {
  const char* const tests = std::getenv("DT_TESTS");
  const fs::path folder = fs::path(tests ? tests : DT_TESTS_DIR) / "golden";
  const auto file = [&](DType type) { return folder / fmt::format("{}.{}.h5", name, dtype_name(type)); };
  return fs::exists(file(dtype)) ? file(dtype) : file(DType::f64);
}

}  // namespace dt::test
