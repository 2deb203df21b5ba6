// Tests by arithmetic alone how evenly dt's kernels use a GPU's processors.
// tests/gpu/sass_bounds.txt gives the kernels' registers, which limit the blocks of a processor.
// tests/cmd/gpu/sass.sh holds what nvcc makes to it.

#include <catch2/catch.hpp>
#include <cstdio>
#include <fmt/core.h>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <sstream>
#include <string>
#include <vector>

#include "base/numeric/integer.hpp"
#include "kernels/cuda/launch/grid.hpp"
#include "kernels/elementwise.hpp"

namespace dt::kernels::cuda {
namespace {

// Legend: R rows of a micro-batch, C hidden, F feed-forward, V vocabulary, D head dim.

struct Gpu {
  const char* name;
  std::int64_t processors, shared_bytes;  // shared_bytes: of one processor
};
/// Source: CUDA C++ Programming Guide, table of technical specifications by compute capability
/// (8.0, 9.0, 10.0); NVIDIA's data sheets for the processors of the SXM modules.
constexpr Gpu gpus[] = {
    {"A100", 108, 164 << 10}, {"H100", 132, 228 << 10}, {"H200", 132, 228 << 10}, {"B200", 148, 228 << 10}};
constexpr std::int64_t registers_of_processor = 65536, most_threads = 2048, most_blocks = 32,
                       reserved_bytes = 1 << 10;

/// The work of a launch, in turns of its blocks' loops. In a turn each thread of a block takes a
/// vector, or its part of a row.
struct Work {
  std::string kernel;  // the kernel's row in the bounds
  Grid grid;
  std::function<std::int64_t(std::int64_t x, std::int64_t y)> turns;  // turns of a block
  double filled_turns;  // turns that the work of all threads would fill
};

std::map<std::string, std::int64_t> registers_of_kernels() {
  std::map<std::string, std::int64_t> all;
  std::ifstream file(DT_TESTS_DIR "/gpu/sass_bounds.txt");
  for (std::string line; std::getline(file, line);) {
    const std::size_t end = line.find("  ");
    std::istringstream rest(end == std::string::npos ? "" : line.substr(end));
    if (std::int64_t registers = 0; line[0] != '#' && rest >> registers) all[line.substr(0, end)] = registers;
  }
  return all;
}

/// Returns how many blocks a processor may have at a time.
std::int64_t blocks_at_once(const Gpu& gpu, const Grid& grid, std::int64_t registers) {
  const std::int64_t warps = grid.threads / warp_size, of_warp = ceil_div(registers * warp_size, 256) * 256;
  return std::min({most_blocks, most_threads / grid.threads, registers_of_processor / (of_warp * warps),
                   gpu.shared_bytes / (static_cast<std::int64_t>(grid.shared_bytes) + reserved_bytes)});
}

/// Returns the fraction of time in which the places for blocks have work, from the first block to
/// the last. Blocks are given out in their order, each to the first free place.
double filled(const Gpu& gpu, const Work& work, std::int64_t registers) {
  const std::int64_t places = gpu.processors * blocks_at_once(gpu, work.grid, registers);
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends;
  for (std::int64_t i = 0; i < places; ++i) ends.push(0);
  std::int64_t last = 0;
  for (std::int64_t y = 0; y < work.grid.blocks_y; ++y) {
    for (std::int64_t x = 0; x < work.grid.blocks; ++x) {
      const std::int64_t end = ends.top() + work.turns(x, y);
      ends.pop();
      ends.push(end);
      last = std::max(last, end);
    }
  }
  return work.filled_turns / static_cast<double>(places * last);
}

/// Returns the number of elements `stride` apart, from `first` on and below `end`.
std::int64_t steps(std::int64_t first, std::int64_t end, std::int64_t stride) {
  return first < end ? ceil_div(end - first, stride) : 0;
}

Work over_packs(std::string kernel, int N, std::int64_t count) {
  const Grid grid = grid_for_vecs(N, count);
  const std::int64_t vecs = ceil_div(count, N);
  return {std::move(kernel), grid,
          [=](std::int64_t x, std::int64_t) {
            return steps(x * grid.threads, vecs, std::int64_t{grid.blocks} * grid.threads);
          },
          static_cast<double>(vecs) / grid.threads};
}

Work over_rows(std::string kernel, int N, std::int64_t R, std::int64_t C) {
  const Grid grid = grid_for_vecs(N, R, C);
  const std::int64_t vecs = ceil_div(C, N);
  return {std::move(kernel), grid,
          [=](std::int64_t x, std::int64_t y) {
            return steps(y, R, grid.blocks_y) *
                   steps(x * grid.threads, vecs, std::int64_t{grid.blocks} * grid.threads);
          },
          static_cast<double>(R * vecs) / grid.threads};
}

Work same_turns(std::string kernel, const Grid& grid, std::int64_t turns) {
  return {std::move(kernel), grid, [=](std::int64_t, std::int64_t) { return turns; },
          static_cast<double>(grid.blocks) * grid.blocks_y * static_cast<double>(turns)};
}

struct Model {
  const char* name;
  std::int64_t R, C, F, V, D, heads;  // heads: those that rotary embeddings turn
  bool is_gpt2;
};
/// Models, each with a micro-batch of as many tokens as fill a GPU.
const Model models[] = {{"gpt2-124m", 32 * 1024, 768, 3072, 50257, 64, 0, true},
                        {"llama-1b", 8 * 2048, 2048, 5632, 32000, 64, 36, false},
                        {"llama-8b", 8192, 4096, 14336, 128256, 128, 40, false}};

std::vector<Work> works(const Model& m) {
  constexpr int N = 8;                                // 16-bit floats per vector
  constexpr std::int64_t logits_at_once = 256 << 20;  // logits in a chunk of the head's rows
  const std::int64_t chunks = ceil_div(m.R, logits_at_once / m.V),
                     loss_rows = ceil_div(ceil_div(m.R, chunks), 16) * 16;
  const auto [threads, vecs] = norm_row(N, m.C);
  const std::string row =
      fmt::format("{}<{}>", threads == warp_size ? "OfWarp" : "OfBlock", std::max<std::int64_t>(2, vecs));
  const NormBackwardRows backward = norm_backward_rows(N, m.R, m.C, sizeof(float));
  const std::int64_t weights = 12 * m.C * m.C;
  const auto [run_rows, runs] = runs_of_columns(N, m.R, m.F);
  const std::int64_t columns = ceil_div(m.F, warp_size * N) * warp_size * N;
  std::vector<Work> all{
      same_turns("gradient_of_rows<BFloat16>", grid_for_loss(loss_rows), 1),
      same_turns(fmt::format("normalise_rows<{}, BFloat16, false>", row),
                 grid_for_norm(N, m.R, m.C, sizeof(float)), 1),
      same_turns(backward.vecs == 1 ? "backward_of_runs<BFloat16, FullVec, 1, 2, false>"
                                    : "backward_of_runs<BFloat16, FullVec, 2, 1, false>",
                 grid_for_norm_backward(backward), backward.runs.rows),
      over_packs("add_elements<BFloat16>", N, m.R * m.C),
      over_packs("scale_add_elements<BFloat16>", N, m.R * m.C),
      over_rows("look_up<BFloat16>", N, m.R, m.C),
      over_packs("combine_elements<Sum, float, float, 8>", 1, weights / 8),
      over_packs("update_elements<AdamW<float>, float, float, BFloat16>", 4, weights),
      over_packs("update_rounded_states<float, BFloat16>", 4, weights),
      same_turns("sum_squares<float>", grid_for_sums(num_sum_blocks(weights), sizeof(double)),
                 sum_block_elements / (4 * threads_per_block)),
      over_packs("divide_elements<float>", 4, m.C * m.F),
      over_rows("make_polynomial<float>", 4, m.C, m.C)};
  if (m.is_gpt2) {
    all.push_back(over_packs("activation_elements<Gelu, BFloat16>", N, m.R * m.F));
    all.push_back(over_packs("activation_backward_elements<Gelu, BFloat16>", N, m.R * m.F));
    all.push_back(same_turns("sum_columns_of_runs<BFloat16, FullVec>",
                             grid_for_columns(N, m.F, runs, sizeof(float)),
                             ceil_div(run_rows, warps_per_block)));
    all.back().filled_turns *= static_cast<double>(m.F) / static_cast<double>(columns);
  } else {
    all.push_back(over_rows("gated_activation_rows<Silu, BFloat16>", N, m.R, m.F));
    all.push_back(over_rows("gated_activation_backward_rows<Silu, BFloat16>", N, m.R, m.F));
    all.push_back(over_rows("turn_pairs<BFloat16>", 1, m.R, m.heads * m.D / 2 / N));
  }
  return all;
}

/// Returns the least acceptable fraction. Few kernels have a lower one, each with its reason.
double least_filled(const std::string& kernel) {
  // The sums of columns that each block keeps are written once per run of rows. With shorter runs
  // they would be a larger part of the bytes moved.
  if (kernel.starts_with("backward_of_runs")) return 0.55;
  // All blocks run at once, the same number on each processor, and fewer than fit.
  if (kernel.starts_with("sum_columns_of_runs")) return 0.55;
  // A block sums a fixed number of elements, whatever the total. One layer of a small model takes
  // little time.
  if (kernel.starts_with("sum_squares")) return 0.7;
  // One matrix of a small model takes microseconds, and its products take a hundred times as long.
  if (kernel.starts_with("divide_elements")) return 0.7;
  if (kernel.starts_with("make_polynomial")) return 0.15;
  return 0.78;
}

TEST_CASE("kernels' grids leave little of a GPU without work at models' sizes") {
  const auto registers = registers_of_kernels();
  std::string told;
  for (const Model& model : models) {
    for (const Work& work : works(model)) {
      INFO(model.name << ", " << work.kernel);
      REQUIRE(registers.contains(work.kernel));
      told += fmt::format("{:10} {:45} {:6} blocks", model.name, work.kernel,
                          work.grid.blocks * work.grid.blocks_y);
      for (const Gpu& gpu : gpus) {
        INFO(gpu.name);
        const double share = filled(gpu, work, registers.at(work.kernel));
        CHECK((share >= least_filled(work.kernel) && share <= 1));
        told += fmt::format("  {} {:.2f}", gpu.name, share);
      }
      told += "\n";
    }
  }
  if (std::getenv("DT_SHOW_GRIDS") != nullptr) std::fputs(told.c_str(), stdout);
}

TEST_CASE("what a wave that is not full costs is counted") {
  const Gpu h100 = gpus[1];
  const auto of_blocks = [](std::int64_t blocks) {
    return Work{"", grid_for_loss(blocks), [](std::int64_t, std::int64_t) { return 1; },
                static_cast<double>(blocks)};
  };
  CHECK(blocks_at_once(h100, grid_for_loss(1), 40) == loss_blocks_at_once);
  CHECK(filled(h100, of_blocks(264), 40) == 1);
  CHECK(filled(h100, of_blocks(313), 40) ==
        Approx(0.593).epsilon(1e-3));  // 264 places have 49 blocks in a second wave
  CHECK(filled(h100, of_blocks(128), 40) == Approx(0.485).epsilon(1e-3));
}

TEST_CASE("cross-entropy has a block a row, whatever the vocabulary") {
  for (const std::int64_t rows : {1, 313, 4096, 1 << 20}) CHECK(grid_for_loss(rows).blocks == rows);
  CHECK(grid_for_loss(0).blocks == 1);  // no launch is empty
}

TEST_CASE("a row's packs are divided evenly among the blocks that they take") {
  for (const auto& [C, blocks, threads] : {std::array<std::int64_t, 3>{1, 1, 32},
                                           {768, 1, 96},
                                           {2304, 2, 160},
                                           {3072, 2, 192},
                                           {2048, 1, 256},
                                           {5632, 3, 256}}) {
    INFO(C);
    const Grid grid = grid_for_vecs(8, 8, C);
    CHECK((grid.blocks == blocks && grid.threads == threads && grid.blocks_y == 2));
  }
}

}  // namespace
}  // namespace dt::kernels::cuda
