#include "data/read/loader.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <fcntl.h>
#include <limits>
#include <set>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "base/hdf5/hdf5_file.hpp"
#include "data/test_dataset.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::Folder;

namespace {

/// Makes a dataset of 200 tokens, of which token i is i % 100; the last 40 validate.
Mixture counting_dataset(const Folder& folder) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(i);
  dt_test::put(folder / "a", text + text);
  auto options = dt_test::plain_options({folder / "a"});
  options.val_fraction = 0.2;
  dt_test::make(folder / "out", options);
  return Mixture(TokenDataset(folder / "out"));
}

/// Makes a dataset of 61 documents in shards of 50 tokens; half validate. Each document has 1 to 7 equal
/// letters, and neighbours have different letters.
Mixture lettered_dataset(const Folder& folder) {
  std::vector<std::string> documents;
  for (std::size_t i = 0; i < 61; ++i) documents.emplace_back(1 + i * 5 % 7, static_cast<char>('a' + i % 26));
  auto options = dt_test::plain_options({});
  options.val_fraction = 0.5;
  options.shard_tokens = 50;
  return Mixture(dt_test::make_documents(folder, documents, options));
}

/// Checks that first_BT holds, for each token, the position in its sample at which the run of its letter
/// begins.
void check_documents(const Batch& batch) {
  const auto length = static_cast<std::size_t>(batch.sequence_length);
  REQUIRE(batch.first_BT.size() == batch.tokens_BT.size());
  for (std::size_t i = 0; i < batch.tokens_BT.size(); ++i) {
    const auto t = static_cast<std::int32_t>(i % length);
    const bool goes_on = t > 0 && batch.tokens_BT[i] == batch.tokens_BT[i - 1];
    CHECK(batch.first_BT[i] == (goes_on ? batch.first_BT[i - 1] : t));
  }
}

std::uint64_t digest_of(const Batch& batch) {
  return batch_digest(batch.digest_seeds_B.data(), batch.tokens_BT.data(), batch.labels_BT.data(),
                      batch.num_samples, batch.sequence_length);
}

}  // namespace

TEST_CASE("a batch holds the windows of the sampler's order, labels shifted by one") {
  const Folder folder;
  const Mixture dataset = counting_dataset(folder);
  Loader loader(dataset, 3, 8);
  REQUIRE(loader.sampler().num_windows() == 19);  // (160 - 1) / 8
  for (const std::uint64_t first : {0u, 5u, 10u, 100u}) {
    const Batch batch = loader.next(first, 5, first + 5);
    CHECK(batch.first_sample == first);
    CHECK(batch.num_samples == 5);
    for (std::size_t b = 0; b < 5; ++b) {
      CHECK(batch.samples_B[b] == first + b);
      const std::uint64_t begin = loader.sampler().window(first + b) * 8;
      for (std::size_t t = 0; t < 8; ++t) {
        CHECK(batch.tokens_BT[b * 8 + t] == static_cast<std::int32_t>((begin + t) % 100));
        CHECK(batch.labels_BT[b * 8 + t] == static_cast<std::int32_t>((begin + t + 1) % 100));
      }
    }
  }
  CHECK(loader.wait_s() > 0);
}

TEST_CASE("counting the targets of the next batch waits for it, and reports how long") {
  const Folder folder;
  const Mixture dataset = counting_dataset(folder);
  Loader loader(dataset, 3, 8);
  loader.next(0, 5, 5);
  const double before_s = loader.wait_s();
  CHECK(loader.num_targets_ahead() == 40);
  CHECK(loader.wait_s() > before_s);
}

TEST_CASE("reading ahead changes nothing, whatever is asked for next") {
  const Folder folder;
  const Mixture dataset = counting_dataset(folder);
  Loader in_order(dataset, 0, 4);
  for (const auto& [first, count] : {std::pair{0, 3}, {3, 3}, {6, 2}, {8, 2}, {50, 2}, {10, 2}, {10, 2}}) {
    const auto f = static_cast<std::uint64_t>(first);
    CHECK(in_order.next(f, count, f + count).tokens_BT ==
          Loader(dataset, 0, 4).next(f, count, f + count).tokens_BT);
  }
}

namespace {

/// A dataset of 40 shards of 4096 tokens, 2 bytes each.
struct ManyShards : Folder {
  ManyShards() {
    dt_test::put(*this / "a", std::string(40 * 4096, 'x'));
    auto options = dt_test::plain_options({*this / "a"});
    options.shard_tokens = 4096;
    dt_test::make(*this / "out", options);
    for (int i = 0; i < 40; ++i) {
      const Hdf5Reader file(shard(i));
      REQUIRE(file.info("/tokens").bytes == 8192);
      token_pages.push_back(file.info("/tokens").offset / 4096 + 1);  // the page that holds tokens alone
    }
  }
  fs::path shard(int i) const { return *this / fmt::format("out/train-{:05}.h5", i); }
  /// Returns false if the file system keeps everything in memory.
  bool evict() const {
    bool all_gone = true;
    for (int i = 0; i < 40; ++i) {
      const File file = File::open_read(shard(i));
      ::fsync(file.descriptor());
      ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
      all_gone = all_gone && !is_in_memory(i);
    }
    return all_gone;
  }
  bool is_in_memory(int i) const {
    const File file = File::open_read(shard(i));
    void* const address = ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
    std::vector<unsigned char> pages(file.size() / 4096 + 1);
    ::mincore(address, file.size(), pages.data());
    ::munmap(address, file.size());
    return (pages[token_pages[static_cast<std::size_t>(i)]] & 1) != 0;
  }
  std::vector<std::size_t> token_pages;
};

}  // namespace

TEST_CASE("batches that come later are read in beforehand, those far ahead are not") {
  const ManyShards folder;
  const Mixture dataset(TokenDataset(folder / "out"));
  if (!folder.evict()) return;
  Loader loader(dataset, 0, 4095);  // a window spans two shards
  const auto shard_of = [&](std::uint64_t sample) {
    return static_cast<int>(loader.sampler().window(sample) * 4095 / 4096);
  };
  loader.next(0, 1, 1);
  std::set<int> far;
  for (std::uint64_t sample = 12; sample < 39; ++sample) far.insert(shard_of(sample));
  for (std::uint64_t sample = 0; sample < 6; ++sample) {
    for (const int near : {shard_of(sample), shard_of(sample) + 1}) far.erase(near);
    for (int tries = 0; tries < 2000 && !folder.is_in_memory(shard_of(sample)); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(folder.is_in_memory(shard_of(sample)));
  }
  REQUIRE(far.size() > 10);
  for (const int shard : far) CHECK_FALSE(folder.is_in_memory(shard));
}

TEST_CASE("the reader's error comes with the batch that it belongs to") {
  const Folder folder;
  { const Mixture whole = counting_dataset(folder); }
  const fs::path shard = folder / "out/train-00000.h5";
  dt_test::damage(shard, static_cast<std::int64_t>(Hdf5Reader(shard).info("/tokens").offset));
  const Mixture dataset(TokenDataset(folder / "out"));
  Loader loader(dataset, 0, 4);
  CHECK(dt_test::caught([&] { loader.next(0, 1, 1); }).says("is corrupt"));
  CHECK(dt_test::caught([&] { loader.next(0, 1, 1); }).says("is corrupt"));
}

TEST_CASE("validation windows come in order, an incomplete last one dropped") {
  const Folder folder;
  const Mixture dataset = counting_dataset(folder);
  CHECK(num_validation_windows(dataset, 8) == 4);  // (40 - 1) / 8
  CHECK(num_validation_windows(dataset, 39) == 1);
  CHECK(num_validation_windows(dataset, 40) == 0);
  const Batch batch = validation_batch(dataset.source(0), 8, 1, 2);
  CHECK(batch.samples_B == std::vector<std::uint64_t>{1, 2});
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(batch.tokens_BT[i] == static_cast<std::int32_t>(68 + i));
    CHECK(batch.labels_BT[i] == static_cast<std::int32_t>(69 + i));
  }
}

TEST_CASE("batches say where documents begin when asked to, and are the same otherwise") {
  const Folder folder;
  const Mixture dataset = lettered_dataset(folder);
  Loader plain(dataset, 5, 16);
  Loader with_documents(dataset, 5, 16, true);
  for (const std::uint64_t first : {0u, 4u, 8u, 100u}) {  // the last one was not read ahead
    const Batch without = plain.next(first, 4, first + 4);
    const Batch batch = with_documents.next(first, 4, first + 4);
    CHECK(without.first_BT.empty());
    check_documents(batch);
    CHECK(batch.tokens_BT == without.tokens_BT);
    CHECK(batch.labels_BT == without.labels_BT);
    CHECK(batch.samples_B == without.samples_B);
    CHECK(digest_of(batch) == digest_of(without));
  }
  CHECK(with_documents.next(0, 0, 0).first_BT.empty());
}

TEST_CASE("validation batches say where documents begin when asked to") {
  const Folder folder;
  const Mixture dataset = lettered_dataset(folder);
  REQUIRE(num_validation_windows(dataset, 16) > 5);  // more than one shard
  check_documents(validation_batch(dataset.source(0), 16, 1, 5, true));
  CHECK(validation_batch(dataset.source(0), 16, 1, 5, true).tokens_BT ==
        validation_batch(dataset.source(0), 16, 1, 5).tokens_BT);
  CHECK(validation_batch(dataset.source(0), 16, 1, 5).first_BT.empty());
}

TEST_CASE("the loader's error about document offsets comes only where they are asked for") {
  const Folder folder;
  { const Mixture whole = counting_dataset(folder); }
  const fs::path shard = folder / "out/train-00000.h5";
  dt_test::damage(shard, static_cast<std::int64_t>(Hdf5Reader(shard).info("/document_offsets").offset));
  const Mixture dataset(TokenDataset(folder / "out"));
  CHECK(Loader(dataset, 0, 4).next(0, 1, 1).tokens_BT.size() == 4);
  Loader loader(dataset, 0, 4, true);
  CHECK(dt_test::caught([&] { loader.next(0, 1, 1); }).says("/document_offsets is corrupt"));
  CHECK(dt_test::caught([&] { loader.next(0, 1, 1); }).says("/document_offsets is corrupt"));
}

TEST_CASE("the digest of samples is a sum over them, so it does not depend on which rank holds which") {
  const Folder folder;
  const Mixture dataset = counting_dataset(folder);
  Loader loader(dataset, 1, 8);
  const std::uint64_t whole = digest_of(loader.next(0, 6, 6));
  CHECK(whole == digest_of(loader.next(4, 2, 6)) + digest_of(loader.next(0, 4, 4)));

  Batch altered = loader.next(0, 6, 6);
  altered.tokens_BT[9] += 1;
  CHECK(digest_of(altered) != whole);
  altered = loader.next(0, 6, 6);
  altered.labels_BT.back() += 1;
  CHECK(digest_of(altered) != whole);
  altered = loader.next(0, 6, 6);
  std::swap(altered.digest_seeds_B[0], altered.digest_seeds_B[1]);
  CHECK(digest_of(altered) != whole);
  for (const std::size_t masked : {0u, 6u, 7u, 8u, 47u}) {
    altered = loader.next(0, 6, 6);
    altered.labels_BT[masked] |= std::numeric_limits<std::int32_t>::min();
    CHECK(digest_of(altered) != whole);
  }
}

TEST_CASE("the digest of samples never changes silently") {
  const std::vector<std::uint64_t> samples = {5, 6};
  const std::vector<std::int32_t> tokens = {1, 2, 3, 4};
  const std::vector<std::int32_t> labels = {2, 3, 4, 5};
  CHECK(batch_digest(samples.data(), tokens.data(), labels.data(), 2, 2) == 0x04818a14749555ab);
  CHECK(batch_digest(samples.data(), tokens.data(), labels.data(), 0, 2) == 0);
}
