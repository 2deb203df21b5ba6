// Measures how near saving and loading a checkpoint come to the speed of the disk. One thread each does
// both, against plain pwrite and fsync, and pread, of the same bytes in one file. The two sides run in
// turn; printed are the medians and the median of the pairs' ratios. The two loads of a pair take turns at
// every 256 MiB: a disk that others share has fast seconds and slow ones.
//
//   bench_checkpoint [FOLDER [PAIRS [LAYERS]]]
//
// The state is GPT-2 124M's with LAYERS layers (default 20: 2.2 GB of fp32 weights and moments). Loads are
// cold: before each, the page cache is asked to drop both files. No bound rests on the warm rows beside
// them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string>
#include <sys/vfs.h>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"
#include "bench/gpt2_state.hpp"
#include "bench/scratch_folder.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/reader.hpp"
#include "parallel/state/local_table.hpp"
#include "support/write_checkpoint.hpp"

namespace {

using namespace dt;
using State = dt_bench::Gpt2State;
using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& body) {
  const auto started = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - started).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void for_each_block(std::span<std::byte> bytes,
                    const std::function<void(std::uint64_t, std::span<std::byte>)>& body) {
  for (std::size_t at = 0; at < bytes.size(); at += digest_block_bytes)
    body(at, bytes.subspan(at, std::min(digest_block_bytes, bytes.size() - at)));
}

void write_plainly(const fs::path& path, std::span<std::byte> bytes) {
  File file = File::create(path);
  for_each_block(bytes, [&](std::uint64_t at, std::span<std::byte> block) { file.write_at(at, block); });
  file.sync();
  file.close();
}

void read_plainly(const File& file, std::uint64_t begin, std::span<std::byte> bytes) {
  for_each_block(bytes,
                 [&](std::uint64_t at, std::span<std::byte> block) { file.read_at(begin + at, block); });
}

/// Drops what is on disk already from the page cache.
void forget(const fs::path& path) {
  const File file = File::open_read(path);
  ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
}

struct Times {
  double dt_s = 0, plain_s = 0;
};

/// Times both sides; `turn` says which of the two goes first.
void add_turn(int turn, Times& times, const std::function<void()>& dt, const std::function<void()>& plain) {
  if (turn % 2 == 0) times.plain_s += seconds_of(plain);
  times.dt_s += seconds_of(dt);
  if (turn % 2 != 0) times.plain_s += seconds_of(plain);
}

/// Times one load of each side, in turns.
Times load_both(int first_turn, const fs::path& saved, const fs::path& plain, const State& state) {
  constexpr std::size_t turn_bytes = std::size_t{256} << 20;
  Times times;
  std::optional<checkpoint::Reader> reader;
  times.dt_s = seconds_of([&] { reader.emplace(saved); });
  const File file = File::open_read(plain);
  std::size_t begin = 0;
  int turn = first_turn;
  for (auto piece = state.pieces.begin(); piece != state.pieces.end(); ++turn) {
    const auto first = piece;
    std::size_t count = 0;
    for (; piece != state.pieces.end() && count < turn_bytes; ++piece) count += piece->data.bytes();
    const auto read = [&](const checkpoint::SourcePiece& p) {
      reader->read(p.kind, p.tensor, p.piece, p.data);
    };
    add_turn(
        turn, times, [&] { std::for_each(first, piece, read); },
        [&] { read_plainly(file, begin, state.bytes().subspan(begin, count)); });
    begin += count;
  }
  return times;
}

struct Pairs {
  std::vector<double> dt_s, plain_s, ratios;

  Pairs(int count, const std::function<Times(int pair)>& measure) {
    for (int pair = 0; pair < count; ++pair) {
      const Times times = measure(pair);
      dt_s.push_back(times.dt_s);
      plain_s.push_back(times.plain_s);
      ratios.push_back(times.plain_s / times.dt_s);
    }
  }
  void print(const std::string& what, std::size_t bytes, double at_least) const {
    const auto rate = [&](double s) { return static_cast<double>(bytes) / s * 1e-9; };
    const double ratio = median(ratios);
    const std::string bound =
        at_least == 0 ? ""
                      : fmt::format("≥ {:<5.3f} {}", at_least, ratio >= at_least ? "reached" : "MISSED ");
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    fmt::print("{:<58} {:>7.3f}   {:<15}  {:.2f} of {:.2f} GB/s; from {:.3f} to {:.3f}\n", what, ratio, bound,
               rate(median(dt_s)), rate(median(plain_s)), *least, *most);
    std::fflush(stdout);
  }
};

/// Reports the bytes that ranks read of a checkpoint that one writer wrote, if they divide all of the
/// state. They are compared with the bytes that the ranks need, and with the whole blocks that hold these.
void report_reading(const fs::path& saved, const State& state) {
  const model::ParameterTable table(state.spec);
  const model::Layout layout{1, 4, 1, 3, 0};
  const std::array<std::size_t, 3> kind_bytes = {4, 4, 4};
  std::uint64_t needed = 0, blocks = 0, read = 0;
  const double took_s = seconds_of([&] {
    for (int rank = 0; rank < layout.size(); ++rank) {
      const checkpoint::Reader reader(saved);
      const parallel::LocalTable local(table, layout, layout.coordinates_of(rank));
      for (const parallel::OwnedPiece& own : parallel::owned_pieces(local, kind_bytes)) {
        const checkpoint::SourcePiece& p = state.pieces[static_cast<std::size_t>(3 * own.param + own.kind)];
        const auto begin = static_cast<std::uint64_t>(4 * own.piece.begin);
        const auto end = static_cast<std::uint64_t>(4 * own.piece.end);
        reader.read(p.kind, p.tensor, own.piece, p.data.flat(own.piece.begin, own.piece.numel()));
        needed += end - begin;
        blocks +=
            std::min<std::uint64_t>((end - 1) / digest_block_bytes * digest_block_bytes + digest_block_bytes,
                                    p.data.bytes()) -
            begin / digest_block_bytes * digest_block_bytes;
      }
      read += reader.bytes_read();
    }
  });
  fmt::print(
      "dp=4, zero=3 loads what dp=1 saved, all ranks: {:.2f} GB needed, in whole blocks {:.2f}, read {:.2f}, "
      "in {:.2f} s one after the other\n",
      static_cast<double>(needed) * 1e-9, static_cast<double>(blocks) * 1e-9,
      static_cast<double>(read) * 1e-9, took_s);
}

std::string file_system_of(const fs::path& folder) {
  struct statfs status {};
  if (::statfs(folder.c_str(), &status) != 0) return "unknown";
  switch (static_cast<unsigned long>(status.f_type)) {
    case 0xEF53:
      return "ext4";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x01021994:
      return "tmpfs";
    case 0x6969:
      return "nfs";
    case 0x794C7630:
      return "overlayfs";
    case 0x0BD00BD0:
      return "lustre";
  }
  return fmt::format("type {:#x}", static_cast<unsigned long>(status.f_type));
}

void report(const fs::path& folder, int num_pairs, const State& state) {
  const std::size_t bytes = state.memory.bytes();
  checkpoint::Manifest manifest;
  manifest.model = state.spec;
  manifest.generation = 1;
  const fs::path plain = folder / "plain", saved = folder / checkpoint::checkpoint_name(0, 1);
  fmt::print("a checkpoint of {:.2f} GB on {}, 1 thread, median of {} pairs\n",
             static_cast<double>(bytes) * 1e-9, file_system_of(folder), num_pairs);
  const auto save_both = [&](int pair) {
    fs::remove_all(saved);
    fs::remove(plain);
    Times times;
    add_turn(
        pair, times, [&] { checkpoint::test::write_checkpoint(folder, manifest, state.pieces); },
        [&] { write_plainly(plain, state.bytes()); });
    return times;
  };
  Pairs(num_pairs, save_both).print("saving, with digests: time of pwrite + fsync ÷ time", bytes, 0.85);
  for (const bool is_cold : {true, false}) {
    const auto load = [&](int pair) {
      if (is_cold) {
        forget(saved / "rank-00000.h5");
        forget(plain);
      }
      return load_both(pair, saved, plain, state);
    };
    Pairs(num_pairs, load)
        .print(fmt::format("loading, verified, {}: time of pread ÷ time", is_cold ? "cold" : "warm"), bytes,
               is_cold ? 0.85 : 0);
  }
  report_reading(saved, state);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const fs::path parent = argc > 1 ? fs::path(argv[1]) : fs::temp_directory_path();
    const dt_bench::ScratchFolder folder(parent);
    report(folder.path(), argc > 2 ? std::atoi(argv[2]) : 7, State(argc > 3 ? std::atoi(argv[3]) : 20));
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "bench_checkpoint: {}\n", error.message());
    return error.exit_code();
  }
}
