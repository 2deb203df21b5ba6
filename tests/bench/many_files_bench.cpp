// Measures what checkpoints of thousands of files cost more than checkpoints of 64, which have the same
// bytes: GPT-2 124M's weights and moments in fp32, 1.5 GB. Prints medians of time, the largest memory, and
// their ratios.
//
//   bench_many_files [FOLDER [TIMES]]
//
// Each measurement is a process of its own. dt-checkpoint is the one beside this program. Reading finds the
// files in the page cache. FOLDER needs 1.5 GB for each of 2 × TIMES + 2 checkpoints.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"
#include "bench/gpt2_state.hpp"
#include "bench/scratch_folder.hpp"
#include "checkpoint/reader.hpp"
#include "parallel/state/local_table.hpp"
#include "run/run_directory.hpp"
#include "support/write_checkpoint.hpp"

namespace {

using namespace dt;
using Clock = std::chrono::steady_clock;

struct Cost {
  double seconds = 0;
  double cpu_seconds = 0;  // with those in the kernel; other processes disturb them less
  double bytes = 0;        // the most memory at a time
};

/// Runs `body` in a process of its own.
Cost cost_of(const std::function<void()>& body) {
  std::fflush(nullptr);
  const auto started = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  if (status != 0) throw environment_error("a measurement ended with status {}", status);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {std::chrono::duration<double>(Clock::now() - started).count(),
          seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
          1024.0 * static_cast<double>(usage.ru_maxrss)};
}

/// Runs a command of dt-checkpoint and drops what it prints.
Cost cost_of(std::vector<std::string> arguments) {
  static const fs::path tool = fs::canonical("/proc/self/exe").parent_path() / "dt-checkpoint";
  arguments.insert(arguments.begin(), {tool.string(), "--quiet"});
  return cost_of([&] {
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execv(words[0], words.data());
    ::_exit(127);
  });
}

/// Loads what one rank of a job with dp=64 and zero=3 loads at its start.
void load_rank(const fs::path& checkpoint, const model::ParameterTable& table, int rank) {
  const checkpoint::Reader reader(checkpoint);
  const model::Layout layout{.dp = 64, .zero = 3};
  const parallel::LocalTable local(table, layout, layout.coordinates_of(rank));
  const char* const kinds[] = {checkpoint::kind_weights, checkpoint::kind_first_moment,
                               checkpoint::kind_second_moment};
  std::vector<Buffer> memory;
  const std::size_t kind_bytes[] = {4, 4, 4};
  for (const parallel::OwnedPiece& own : parallel::owned_pieces(local, kind_bytes)) {
    Buffer& buffer =
        memory.emplace_back(Device::host(), static_cast<std::size_t>(own.piece.numel()) * sizeof(float));
    reader.read(kinds[own.kind], local.name(own.param), own.piece,
                Tensor(buffer.data(), DType::f32, Shape{own.piece.numel()}, Device::host()));
  }
}

class Comparison {
 public:
  Comparison(fs::path folder, int times) : folder_(std::move(folder)), times_(times) {}

  /// Measures both in turn, and prints them.
  void print(const char* what, const std::function<Cost()>& few, const std::function<Cost()>& many) const {
    std::vector<Cost> a, b;
    for (int i = 0; i < times_; ++i) {
      a.push_back(few());
      b.push_back(many());
    }
    const double a_s = median(a, &Cost::seconds), b_s = median(b, &Cost::seconds);
    const double a_cpu = median(a, &Cost::cpu_seconds), b_cpu = median(b, &Cost::cpu_seconds);
    const double a_bytes = median(a, &Cost::bytes), b_bytes = median(b, &Cost::bytes);
    fmt::print(
        "{:42} time {:7.3f} s ÷ {:7.3f} s = {:.2f}, memory {:4.0f} MB ÷ {:4.0f} MB = {:.2f} (at most 2)",
        what, b_s, a_s, b_s / a_s, b_bytes * 1e-6, a_bytes * 1e-6, b_bytes / a_bytes);
    fmt::print("; CPU time {:.3f} s ÷ {:.3f} s\n", b_cpu, a_cpu);
    std::fflush(stdout);
  }

  /// Returns the path of the state in `num_files` files, in a run directory of its own.
  fs::path path(int num_files) const {
    return run(num_files) / "checkpoints" / checkpoint::checkpoint_name(0, 1);
  }
  fs::path run(int num_files) const { return folder_ / fmt::format("run-{}", num_files); }

  /// Keeps what earlier calls wrote, since ext4 spends long on new files soon after it has deleted others.
  Cost reshard(int num_files) {
    if (fs::exists(run(num_files)))
      fs::rename(run(num_files), folder_ / fmt::format("earlier-{}", num_earlier_++));
    run::RunDirectory(run(num_files)).create();
    return cost_of({"reshard", "--layout", fmt::format("dp={},zero=3", num_files),
                    (folder_ / "source").string(), path(num_files).string()});
  }

 private:
  static double median(std::vector<Cost> costs, double Cost::*value) {
    std::ranges::sort(costs, {}, value);
    return costs[costs.size() / 2].*value;
  }

  fs::path folder_;
  int times_;
  int num_earlier_ = 0;
};

void write_source(const fs::path& folder) {
  const dt_bench::Gpt2State state(12);
  checkpoint::Manifest manifest;
  manifest.model = state.spec;
  manifest.generation = 1;
  fs::rename(checkpoint::test::write_checkpoint(folder, manifest, state.pieces), folder / "source");
}

void report(const fs::path& folder, int times) {
  cost_of(
      [&] { write_source(folder); });  // a process of its own, so that its memory is not the measurements'
  Comparison compared(folder, times);
  fmt::print("the same state in thousands of files ÷ in 64, median of {}\n", times);
  compared.print(
      "dt-checkpoint reshard into 2,048 files", [&] { return compared.reshard(64); },
      [&] { return compared.reshard(2048); });
  compared.reshard(4096);
  const model::ParameterTable table(model::load_model_spec("gpt2-124m"));
  const auto of_both = [&](const char* what, const std::function<Cost(int)>& cost) {
    compared.print(
        what, [&] { return cost(64); }, [&] { return cost(4096); });
  };
  of_both("dt-checkpoint show, 4,096 files", [&](int n) {
    return cost_of({"show", compared.path(n).string()});
  });
  of_both("dt-checkpoint list, 4,096 files", [&](int n) {
    return cost_of({"list", compared.run(n).string()});
  });
  of_both("loading a rank of dp=64, 4,096 files",
          [&](int n) { return cost_of([&] { load_rank(compared.path(n), table, 7); }); });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const fs::path parent = argc > 1 ? fs::path(argv[1]) : fs::temp_directory_path();
    const dt_bench::ScratchFolder folder(parent);
    report(folder.path(), argc > 2 ? std::atoi(argv[2]) : 3);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "bench_many_files: {}\n", error.message());
    return error.exit_code();
  }
}
