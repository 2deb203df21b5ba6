// bench_loader [ROUNDS]: measures batches of 2048 samples of 1024 tokens, warm, against memcpy of as many
// bytes as a batch holds (tokens and labels, 8 bytes a token). With smaller batches, a busy machine's
// scheduling of the reader thread would decide the time. Each of ROUNDS (default 15) does both, one after
// the other; the row is the median of their ratios.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/test_folder.hpp"
#include "data/build/make_dataset.hpp"
#include "data/read/loader.hpp"

namespace {

using namespace dt;

constexpr std::int64_t length = 1024, batch = 2048;
constexpr int batches_a_round = 4;
constexpr std::size_t num_tokens = std::size_t{32} << 20;

data::Mixture make_mixture(const fs::path& folder) {
  std::mt19937 random(1);
  std::string text(num_tokens, '\0');
  for (char& c : text) c = static_cast<char>('a' + random() % 26);
  write_synced(folder / "text", text);
  data::MakeOptions options;
  options.inputs = {(folder / "text").string()};
  options.val_fraction = 0;
  data::make_dataset(folder / "data", options, [](data::MakePhase, std::uint64_t, std::uint64_t) {});
  return data::Mixture(data::TokenDataset(folder / "data"));
}

template <class Work>
double seconds(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < batches_a_round; ++i) work(i);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  return passed.count() / batches_a_round;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void bench(const fs::path& folder, int rounds) {
  const data::Mixture mixture = make_mixture(folder);
  data::Loader loader(mixture, 0, length);
  const std::size_t numbers = 2 * batch * length;
  std::vector<std::int32_t> from(numbers * batches_a_round, 1), to(numbers);
  std::vector<double> loads, copies, ratios;
  std::uint64_t next = 0;
  for (int round = -1; round < rounds; ++round) {  // the first round verifies the shards that it touches
    const double copy = seconds([&](int i) {
      std::memcpy(to.data(), from.data() + static_cast<std::size_t>(i) * numbers, numbers * sizeof(to[0]));
      asm volatile("" : : "g"(to.data()) : "memory");
    });
    const double load = seconds([&](int) {
      next += batch;
      loader.next(next - batch, batch, next);
    });
    if (round < 0) continue;
    loads.push_back(load);
    copies.push_back(copy);
    ratios.push_back(copy / load);
  }
  const double gigabytes = static_cast<double>(numbers) * 4e-9;
  std::printf("loader, T=1024, ÷ memcpy of a batch's bytes  %.3f (asked 0.5)   %.1f and %.1f GB/s\n",
              median(ratios), gigabytes / median(loads), gigabytes / median(copies));
}

}  // namespace

int main(int argc, char** argv) {
  const dt_test::Folder folder;
  bench(folder.path(), argc > 1 ? std::atoi(argv[1]) : 15);
}
