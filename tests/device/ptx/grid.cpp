#include "device/ptx/grid.hpp"

#include <algorithm>
#include <random>

#include "base/error.hpp"

namespace dt::ptx {

namespace {

constexpr std::byte anything{0xFF};
constexpr std::size_t most_shared_bytes = std::size_t{48} << 10;  // the most without an opt-in

unsigned count(const std::array<unsigned, 3>& extents) {
  return extents[0] * extents[1] * extents[2];
}

void check(const Kernel& kernel, const Grid& grid, std::size_t parameter_bytes) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::internal, fmt::format("{}: {}", kernel.name, what));
  };
  constexpr unsigned most_blocks_y = 65535;
  if (count(grid.blocks) == 0 || grid.blocks[1] > most_blocks_y || grid.blocks[2] > most_blocks_y)
    refuse(fmt::format("a grid of {} × {} × {} blocks", grid.blocks[0], grid.blocks[1], grid.blocks[2]));
  if (count(grid.threads) == 0 || count(grid.threads) > kernel.most_threads)
    refuse(fmt::format("a block of {} threads, of at most {}", count(grid.threads), kernel.most_threads));
  if (kernel.dynamic_begin + grid.dynamic_bytes > most_shared_bytes)
    refuse(fmt::format("{} bytes of shared memory", kernel.dynamic_begin + grid.dynamic_bytes));
  if (parameter_bytes != kernel.parameter_bytes)
    refuse(fmt::format("{} bytes of parameters, of {}", parameter_bytes, kernel.parameter_bytes));
}

/// The warps of one block after another.
class Warps {
 public:
  Warps(Block& block, const Grid& grid) : block_(block), grid_(grid) {
    const Kernel& kernel = block.launch.kernel;
    const std::size_t rows = static_cast<std::size_t>(kernel.num_rows) * warp_size;
    for (unsigned i = 0; i * warp_size < count(grid.threads); ++i) {
      warps_.push_back(
          {.block = block,
           .index = i,
           .rows = std::vector<std::uint64_t>(rows, ~std::uint64_t{0}),
           .predicates = std::vector<std::uint32_t>(static_cast<std::size_t>(kernel.num_predicates)),
           .local = std::vector<std::byte>(kernel.local_bytes * warp_size, anything)});
      for (const Constant& constant : kernel.constants) set(warps_.back(), constant.row, constant.bits);
      set_places(warps_.back());
    }
  }

  void run(std::mt19937_64& random) {
    const Kernel& kernel = block_.launch.kernel;
    for (Warp& warp : warps_) begin(warp);
    std::vector<Warp*> left;
    for (Warp& warp : warps_) left.push_back(&warp);
    while (!left.empty()) {
      std::shuffle(left.begin(), left.end(), random);
      for (Warp* const warp : left) warp->run();
      std::erase_if(left, [](const Warp* warp) { return !warp->is_at_barrier; });
      ++block_.epoch;
      for (Warp* const warp : left) {
        DT_CHECK(warp->barrier == left.front()->barrier, "{}: warps wait at barriers {} and {}", kernel.name,
                 warp->barrier, left.front()->barrier);
        warp->is_at_barrier = false;
      }
    }
  }

 private:
  static void set(Warp& warp, std::int32_t row, std::uint64_t bits) {
    std::fill_n(warp.row(row), warp_size, bits);
  }
  static void set(Warp& warp, Special special, std::uint64_t bits) {
    set(warp, static_cast<std::int32_t>(special), bits);
  }

  void begin(Warp& warp) {
    const unsigned threads = std::min(count(grid_.threads) - warp.index * warp_size, warp_size);
    const auto end = static_cast<std::uint32_t>(block_.launch.kernel.code.size());
    warp.live = threads == warp_size ? all_lanes : (std::uint32_t{1} << threads) - 1;
    warp.paths.assign(1, {0, end, warp.live});
    warp.epoch = 0;
    set(warp, Special::ctaid_x, block_.index[0]);
    set(warp, Special::ctaid_y, block_.index[1]);
    set(warp, Special::ctaid_z, block_.index[2]);
  }

  /// Sets the registers that no block changes.
  void set_places(Warp& warp) {
    const auto& [x, y, z] = grid_.threads;
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      const unsigned thread = warp.index * warp_size + lane;
      const auto set_lane = [&](Special special, std::uint64_t value) {
        warp.row(static_cast<std::int32_t>(special))[lane] = value;
      };
      set_lane(Special::tid_x, thread % x);
      set_lane(Special::tid_y, thread / x % y);
      set_lane(Special::tid_z, thread / x / y);
      const std::uint64_t bit = std::uint64_t{1} << lane, below = bit - 1;
      set_lane(Special::laneid, lane);
      set_lane(Special::lanemask_eq, bit);
      set_lane(Special::lanemask_lt, below);
      set_lane(Special::lanemask_le, below | bit);
      set_lane(Special::lanemask_gt, all_lanes & ~(below | bit));
      set_lane(Special::lanemask_ge, all_lanes & ~below);
    }
    set(warp, Special::ntid_x, x);
    set(warp, Special::ntid_y, y);
    set(warp, Special::ntid_z, z);
    set(warp, Special::nctaid_x, grid_.blocks[0]);
    set(warp, Special::nctaid_y, grid_.blocks[1]);
    set(warp, Special::nctaid_z, grid_.blocks[2]);
  }

  Block& block_;
  const Grid& grid_;
  std::vector<Warp> warps_;
};

}  // namespace

void run(const Kernel& kernel, const Grid& grid, std::span<const std::byte> parameters,
         const FindMemory& find_memory, std::uint64_t seed) {
  check(kernel, grid, parameters.size());
  Launch launch{.kernel = kernel,
                .parameters = {parameters.begin(), parameters.end()},
                .find_memory = find_memory,
                .near = std::vector<std::span<std::byte>>(kernel.code.size())};
  Block block{.launch = launch, .shared = std::vector<std::byte>(kernel.dynamic_begin + grid.dynamic_bytes)};
  Warps warps(block, grid);
  std::mt19937_64 random(seed);
  std::vector<unsigned> order(count(grid.blocks));
  for (unsigned i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  for (const unsigned number : order) {
    block.number = number + 1;
    block.index = {number % grid.blocks[0], number / grid.blocks[0] % grid.blocks[1],
                   number / grid.blocks[0] / grid.blocks[1]};
    block.epoch = 0;
    std::ranges::fill(block.shared, anything);
    warps.run(random);
  }
}

}  // namespace dt::ptx
