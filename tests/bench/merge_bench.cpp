// bench_merge DIR [BYTES] [ROUNDS]: measures dt-merge, as PATH finds it, against cp of the same bytes, in
// DIR. A checkpoint of BYTES (default 1G) of fp32 weights in four files is written first and read once. So
// both read from the page cache, if it has room. Each of ROUNDS (default 7) runs three commands, one after
// the other: cp, cp followed by sync of its output, and dt-merge, which syncs, too. The rows are medians of
// times, and of the ratios of each round.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"
#include "base/text/text.hpp"
#include "checkpoint/share.hpp"
#include "checkpoint/writer.hpp"
#include "model/parameter_table.hpp"

namespace {

using namespace dt;

constexpr int num_writers = 4;

/// Returns a Llama with about `bytes` bytes of fp32 weights.
model::ModelSpec model_of(std::int64_t bytes) {
  model::ModelSpec spec = model::load_model_spec("llama-tiny");
  spec.vocabulary = 32000;
  spec.hidden = 2048;
  spec.query_heads = spec.key_value_heads = 16;
  spec.head_dim = 128;
  spec.mlp_hidden = 5632;
  spec.tied = false;
  spec.layers = 0;
  const auto bytes_with = [&](std::int64_t layers) {
    spec.layers = layers;
    return 4 * model::ParameterTable(spec).num_parameters();
  };
  const std::int64_t layer = bytes_with(2) - bytes_with(1);
  bytes_with(std::max<std::int64_t>(1, 1 + (bytes - bytes_with(1) + layer / 2) / layer));
  return spec;
}

/// Writes a checkpoint. Every tensor is a view of the same numbers, so that the model need not fit into
/// memory.
fs::path write_checkpoint(const fs::path& folder, const model::ModelSpec& spec) {
  const model::ParameterTable table(spec);
  std::int64_t largest = 0;
  for (const model::ParamSpec& param : table.params()) largest = std::max(largest, param.shape.numel());
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(largest));
  std::uint32_t state = 1;
  for (std::uint32_t& n : numbers) n = 0x3c000000U | ((state = state * 1664525U + 1013904223U) >> 8);
  std::vector<checkpoint::SourcePiece> pieces;
  for (const model::ParamSpec& param : table.params()) {
    pieces.push_back({param.name, checkpoint::kind_weights, Piece::whole(param.shape),
                      Tensor(numbers.data(), DType::f32, param.shape, Device::host())});
  }
  checkpoint::Manifest manifest;
  manifest.model = spec;
  manifest.generation = 1;
  manifest.state.step = 1;
  manifest.state.sequence_length = 32;
  manifest.state.precision = "fp32";
  checkpoint::CheckpointTransaction unfinished(folder, 1, 1);
  for (int w = 0; w < num_writers; ++w)
    checkpoint::write_shard(unfinished.path(), manifest, w,
                            checkpoint::test::share_of(pieces, w, num_writers));
  return unfinished.commit(manifest, num_writers);
}

struct Measured {
  double seconds = 0;
  double peak_mib = 0;
};

/// Runs and measures a shell command, then removes what it leaves under `result`.
Measured measure(const std::string& command, const fs::path& result) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  struct rusage usage {};
  if (child < 0 || ::wait4(child, &status, 0, &usage) < 0 || status != 0)
    throw environment_error("'{}' failed", command);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fs::remove_all(result);
  return {seconds.count(), static_cast<double>(usage.ru_maxrss) / 1024};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void bench(const fs::path& folder, std::int64_t bytes, int rounds) {
  const fs::path ckpt = write_checkpoint(folder, model_of(bytes));
  double stored = 0;
  for (const auto& entry : fs::directory_iterator(ckpt)) stored += static_cast<double>(entry.file_size());
  const fs::path out = folder / "out";
  const std::string copy = fmt::format("cp -r '{}' '{}'", ckpt.string(), out.string());
  const std::string synced = fmt::format("{} && sync '{}'/*", copy, out.string());
  const std::string merge = fmt::format("exec dt-merge --quiet '{}' --out '{}'", ckpt.string(), out.string());
  std::system(fmt::format("cat '{}'/* >/dev/null", ckpt.string()).c_str());
  const std::string commands[] = {copy, synced, merge};
  std::vector<double> times[3];
  std::vector<double> ratios[2];
  double peak = 0;
  for (int round = 0; round < rounds; ++round) {
    Measured measured[3];
    // Each command in turn goes first: a disk may be faster after a rest.
    for (int i = 0; i < 3; ++i) measured[(round + i) % 3] = measure(commands[(round + i) % 3], out);
    for (int k = 0; k < 3; ++k) times[k].push_back(measured[k].seconds);
    ratios[0].push_back(measured[1].seconds / measured[2].seconds);
    ratios[1].push_back(measured[0].seconds / measured[2].seconds);
    peak = std::max(peak, measured[2].peak_mib);
  }
  std::printf("merging %.2f GB of fp32 weights in %d files against cp, in %s, source read before\n",
              stored / 1e9, num_writers, folder.c_str());
  const char* names[] = {"cp", "cp, synced", "dt-merge (synced)"};
  for (int k = 0; k < 3; ++k)
    std::printf("  %-22s %7.2f s  %6.0f MB/s\n", names[k], median(times[k]), stored / 1e6 / median(times[k]));
  std::printf("  cp, synced ÷ dt-merge  %7.3f    (at least 0.80)\n", median(ratios[0]));
  std::printf("  cp ÷ dt-merge          %7.3f\n", median(ratios[1]));
  std::printf("  peak memory            %7.1f MiB (at most 256)\n", peak);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2 || argc > 4) throw usage_error("usage: bench_merge DIR [BYTES] [ROUNDS]");
    const fs::path folder = fs::path(argv[1]) / fmt::format("dt-bench-merge-{}", ::getpid());
    fs::create_directory(folder);
    try {
      bench(folder, parse_count(argc > 2 ? argv[2] : "1G"),
            argc > 3 ? static_cast<int>(parse_count(argv[3])) : 7);
    } catch (...) {
      fs::remove_all(folder);
      throw;
    }
    fs::remove_all(folder);
    return 0;
  } catch (...) {
    const Error error = current_error();
    std::fprintf(stderr, "bench_merge: %s\n", error.message().c_str());
    return error.exit_code();
  }
}
