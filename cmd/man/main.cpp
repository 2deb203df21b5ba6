// Writes the tools' man pages and completions: write-manuals FOLDER DATE. It links the option tables
// alone, so it runs where the tools can start neither MPI nor CUDA.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/cli/completions.hpp"
#include "base/cli/manual.hpp"
#include "base/error.hpp"
#include "cmd/dt-allreduce-bench/options.hpp"
#include "cmd/dt-checkpoint/options.hpp"
#include "cmd/dt-merge/options.hpp"
#include "cmd/dt-shard-data/options.hpp"
#include "cmd/dt-train/options.hpp"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw dt::environment_error("cannot write {}", path.string());
}

void write_tool(const fs::path& share, const dt::OptionTable& table, const dt::Manual& manual,
                const std::string& date) {
  const std::string& tool = table.tool();
  write(share / "man/man1" / (tool + ".1"), dt::man_page(table, manual, date));
  write(share / "bash-completion/completions" / tool, dt::bash_completion(table));
  write(share / "zsh/site-functions" / ("_" + tool), dt::zsh_completion(table));
}

void write_all(const fs::path& share, const std::string& date) {
  dt::allreduce_bench::Options bench;
  write_tool(share, dt::allreduce_bench::make_options(bench), dt::allreduce_bench::manual(), date);
  dt::checkpoint_tool::Options checkpoint;
  write_tool(share, dt::checkpoint_tool::make_options(checkpoint), dt::checkpoint_tool::manual(), date);
  dt::merge_tool::Options merge;
  write_tool(share, dt::merge_tool::make_options(merge), dt::merge_tool::manual(), date);
  dt::shard_data::Options shard_data;
  write_tool(share, dt::shard_data::make_options(shard_data), dt::shard_data::manual(), date);
  dt::plan::Settings train;
  write_tool(share, dt::train_tool::make_options(train), dt::train_tool::manual(), date);
  write(share / "man/man7/dt-environment.7", dt::environment_page(date));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw dt::usage_error("usage: write-manuals FOLDER DATE");
    write_all(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write-manuals: error: %s\n", error.what());
    return 1;
  }
}
