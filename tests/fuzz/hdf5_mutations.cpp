// hdf5_mutations COUNT [SEED [FOLDER]]: makes token shards and a checkpoint's piece file, changes each
// COUNT times at random and reads it. Every other change has its checksums mended, so that the checksums do
// not reveal it. A file must be read or refused with Error{input}, in ten seconds and 512 MiB. The sound
// files, and the file that did harm, stay in FOLDER.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/hdf5/hdf5_file.hpp"
#include "base/hdf5/source.hpp"
#include "base/numeric/digest.hpp"
#include "base/test_folder.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/sample.hpp"
#include "data/build/block_copier.hpp"
#include "data/build/shard_writer.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/hdf5_files.hpp"

namespace {

using namespace dt;
using Content = std::vector<std::byte>;

/// A checksum that stands at `at` and covers [begin, end). If it lies within, it counts as zeros.
struct Seal {
  std::size_t begin, end, at;
};

std::uint32_t number_at(const Content& file, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

/// Finds the structures of the format that have a checksum behind or within them, by trial.
std::vector<Seal> seals_of(Content file) {
  constexpr std::size_t longest = 8192, heap_block_checksum_at = 4 + 1 + 8;
  constexpr std::array<std::string_view, 8> signatures = {"\x89HDF", "OHDR", "OCHK", "FRHP",
                                                          "FHIB",    "BTHD", "BTIN", "BTLF"};
  const auto begins_with = [&](std::size_t at, std::string_view signature) {
    return std::ranges::equal(std::span(file).subspan(at, 4), std::as_bytes(std::span(signature)));
  };
  std::vector<Seal> seals;
  for (std::size_t begin = 0; begin + 4 <= file.size(); ++begin) {
    const bool is_heap_block = begins_with(begin, "FHDB");
    if (!is_heap_block && std::ranges::none_of(signatures, [&](auto s) { return begins_with(begin, s); }))
      continue;
    for (std::size_t end = begin + 8; end + 4 <= std::min(file.size(), begin + longest); ++end) {
      if (hdf5::checksum(std::span(file).subspan(begin, end - begin)) != number_at(file, end)) continue;
      seals.push_back({begin, end, end});
      break;
    }
    for (std::size_t width = 4; is_heap_block && width <= 5; ++width) {  // bytes of an offset in the heap
      const std::size_t at = begin + heap_block_checksum_at + width;
      const std::uint32_t stored = number_at(file, at);
      std::memset(file.data() + at, 0, 4);
      for (std::size_t bytes = 512; bytes <= std::min(longest, file.size() - begin); bytes *= 2) {
        if (hdf5::checksum(std::span(file).subspan(begin, bytes)) == stored)
          seals.push_back({begin, begin + bytes, at});
      }
      std::memcpy(file.data() + at, &stored, 4);
    }
  }
  return seals;
}

void mend(Content& file, const std::vector<Seal>& seals) {
  for (const Seal& seal : seals) {
    if (std::max(seal.end, seal.at + 4) > file.size()) continue;
    if (seal.at < seal.end) std::memset(file.data() + seal.at, 0, 4);
    const std::uint32_t value = hdf5::checksum(std::span(file).subspan(seal.begin, seal.end - seal.begin));
    std::memcpy(file.data() + seal.at, &value, 4);
  }
}

/// Changes a file in one place.
void change(Content& file, std::mt19937_64& random) {
  // Metadata lies before payloads, most of it in the first 4 KiB.
  const auto below = [&](std::size_t limit) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(limit, 1));
  };
  const auto place = [&] {
    return below(random() % 4 == 0 ? file.size() : std::min<std::size_t>(file.size(), 4096));
  };
  const std::size_t at = place(), width = std::min(std::size_t{1} << random() % 4, file.size() - at);
  const auto put = [&](std::uint64_t value) { std::memcpy(file.data() + at, &value, width); };
  switch (random() % 8) {
    case 0:
    case 1:
      file[at] ^= static_cast<std::byte>(1U << random() % 8);
      break;
    case 2: {
      constexpr std::array<std::uint64_t, 8> extremes = {
          0, 1, 0x7f, 0xff, 0x7fffffffffffffff, 0x8000000000000000, 0x4000000000004e20, ~std::uint64_t{0}};
      put(extremes[random() % extremes.size()]);
      break;
    }
    case 3:
      put(below(2 * file.size()));  // another place or length
      break;
    case 4:
      file.resize(at + 1);
      break;
    case 5:
    case 6: {  // move a message, a record or a block over another, or exchange them
      const std::size_t from = place(),
                        bytes = std::min({1 + below(256), file.size() - from, file.size() - at});
      const Content copy(file.begin() + static_cast<std::ptrdiff_t>(from),
                         file.begin() + static_cast<std::ptrdiff_t>(from + bytes));
      if (random() % 2 == 0) std::memmove(file.data() + from, file.data() + at, bytes);
      std::memcpy(file.data() + at, copy.data(), bytes);
      break;
    }
    default: {  // duplicate messages; the bytes behind them move on
      const std::size_t bytes = std::min(1 + below(64), file.size() - at);
      const Content copy(file.begin() + static_cast<std::ptrdiff_t>(at),
                         file.begin() + static_cast<std::ptrdiff_t>(at + bytes));
      file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), copy.begin(), copy.end());
    }
  }
  if (file.empty()) file.resize(1);
}

Content content_of(const fs::path& path) {
  const std::string text = dt_test::content(path);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void put(const fs::path& path, const Content& content) {
  dt_test::put(path, {reinterpret_cast<const char*>(content.data()), content.size()});
}

/// A sound file, and a function that reads it and its mutations.
struct Subject {
  fs::path path;
  std::function<void()> read;
};

fs::path make_shard(const fs::path& path, data::TokenStorage storage) {
  data::ShardPlanner planner(data::Split::train, 1000);
  for (int i = 0; i < 20; ++i) {
    planner.begin_document();
    planner.advance(10);
  }
  const std::vector<data::ShardPlan> plans = planner.finish();
  const std::vector<std::uint32_t> tokens(200, 0);
  write_synced(path.string() + ".tokens", {reinterpret_cast<const char*>(tokens.data()), 4 * tokens.size()});
  const auto source = std::make_shared<const dt::File>(dt::File::open_read(path.string() + ".tokens"));
  data::BlockCopier copies(1, storage.masks_targets);
  data::ShardWriter writer(dt::File::create(path), plans.front(), {"bytes", 1, 257, 256}, storage, copies);
  const std::uint64_t document_bytes = 10 * dtype_bytes(storage.dtype);
  for (std::uint64_t i = 0; i < 20; ++i) {
    writer.begin_document();
    writer.append({source, i * document_bytes, document_bytes});
  }
  writer.close();
  return path;
}

std::vector<Subject> make_subjects(const fs::path& folder) {
  std::vector<Subject> subjects;
  for (const auto& [name, storage] : {std::pair{"narrow.h5", data::TokenStorage{DType::u16}},
                                      {"marked.h5", data::TokenStorage{DType::u32, true}}}) {
    const fs::path path = make_shard(folder / name, storage);
    subjects.push_back({path, [path] { dt_fuzz::read_shard(path); }});
  }
  checkpoint::test::Pieces pieces;
  for (int i = 0; i < 12; ++i)  // more than fit in a group's header
    pieces.add(checkpoint::kind_weights, "layers." + std::to_string(i), Piece::whole({2, 3}), DType::f32, i);
  pieces.add(checkpoint::kind_first_moment, "layers.0", Piece::whole({2, 3}), DType::f32, 100);
  const fs::path saved =
      checkpoint::test::write_checkpoint(folder, checkpoint::test::sample_manifest(), pieces.list);
  subjects.push_back({saved / "rank-00000.h5", [saved] {
                        dt_fuzz::accepted([&] { dt_fuzz::read_hdf5(saved / "rank-00000.h5"); });
                        static_cast<void>(checkpoint::verify_checkpoint(saved));
                      }});
  for (const Subject& subject : subjects) subject.read();
  return subjects;
}

/// Ends the process once it has computed for `seconds`, however busy the machine is; 0: never.
void limit_cpu_time(long seconds) {
  const itimerval limit = {{0, 0}, {seconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}

}  // namespace

int main(int num_arguments, char** arguments) {
  const std::size_t count = num_arguments > 1 ? std::strtoull(arguments[1], nullptr, 10) : 200;
  std::mt19937_64 random(num_arguments > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1);
  const dt_test::Folder own;
  const fs::path folder = num_arguments > 3 ? fs::path(arguments[3]) : own.path();
  for (const Subject& subject : make_subjects(folder)) {
    const Content sound = content_of(subject.path);
    const std::vector<Seal> seals = seals_of(sound);
    std::size_t num_read = 0;
    for (std::size_t i = 0; i < count; ++i) {
      Content changed = sound;
      for (std::size_t k = 0; k <= random() % 3; ++k) change(changed, random);
      if (random() % 4 != 0) mend(changed, seals);
      put(subject.path, changed);
      limit_cpu_time(10);
      dt_fuzz::accepted([&] {
        subject.read();
        ++num_read;
      });
      limit_cpu_time(0);
    }
    put(subject.path, sound);
    std::printf("%s: %zu seals, %zu of %zu changed files were read\n", subject.path.filename().c_str(),
                seals.size(), num_read, count);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%ld MiB\n", usage.ru_maxrss / 1024);
  dt_fuzz::require(usage.ru_maxrss < 512L << 10, "reading takes less than 512 MiB");
}
