// Prints how near computing on the CPU comes to the machine's speed. Ratios compare with what is reached in
// the same run. Each stands beside a fixed bound, which depends on the CPU's instructions at most. Steps
// are dt-train's own, as it reports them. The best rate is that of any matrix product at the models'
// shapes, by dt, oneDNN or PyTorch. Rows for which a tool is missing say so.
#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "bench/table/bytes.hpp"
#include "bench/table/report.hpp"
#include "bench/table/rows.hpp"

namespace {

using namespace dt;
using namespace dt::table;

constexpr const char* usage =
    "usage: bench_table [--train DT_TRAIN SHARDS] [--torch PYTHON SCRIPTS] [SECTION...]\n"
    "sections: bytes products attention steps memory; all where none is named\n"
    "DT_TRAIN: the program; SHARDS: a folder that dt-shard-data wrote; PYTHON: one that has PyTorch;\n"
    "SCRIPTS: tests/bench/table\n";

struct Options {
  Tools tools{read_cpu(), std::nullopt, std::nullopt};
  std::vector<std::string> sections;
};

Options parse(const std::vector<std::string>& words) {
  const std::vector<std::string> all{"bytes", "products", "attention", "steps", "memory"};
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_two = i + 2 < words.size();
    if (words[i] == "--train" && has_two) {
      options.tools.train = {words[i + 1], words[i + 2]};
      i += 2;
    } else if (words[i] == "--torch" && has_two) {
      options.tools.torch = {words[i + 1], words[i + 2]};
      i += 2;
    } else if (std::ranges::find(all, words[i]) != all.end()) {
      options.sections.push_back(words[i]);
    } else {
      throw usage_error("bench_table does not know '{}'\n{}", words[i], usage);
    }
  }
  if (options.sections.empty()) options.sections = all;
  return options;
}

void report(const Options& options) {
  const auto wants = [&](const char* section) { return std::ranges::count(options.sections, section) > 0; };
  const bool steps = wants("steps");
  title(describe(options.tools.cpu));
  if (steps || wants("products") || wants("attention"))
    report_speed(options.tools, {steps || wants("products"), wants("attention"), steps});
  if (wants("bytes")) {
    title("Kernels that memory bounds");
    for (const DType dtype : {DType::f32, DType::bf16}) report_bytes(dtype);
  }
  if (wants("memory")) report_memory(options.tools);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // the missing answer reports a script that ends early
  try {
    report(parse({argv + 1, argv + argc}));
  } catch (const Error& error) {
    fmt::print(stderr, "bench_table: {}\n", error.message());
    return error.exit_code();
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_table: {}\n", error.what());
    return 1;
  }
  return 0;
}
