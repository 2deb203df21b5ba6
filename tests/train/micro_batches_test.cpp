#include "train/step/micro_batches.hpp"

#include <catch2/catch.hpp>
#include <deque>

#include "device/test_device.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::train;

namespace {

constexpr std::int64_t samples = 3, length = 5, vocabulary = 1000;

/// Returns a batch whose values differ from those of other numbers.
data::Batch numbered(std::int32_t number) {
  data::Batch batch;
  batch.num_samples = samples;
  batch.sequence_length = length;
  for (std::int32_t i = 0; i < samples * length; ++i) {
    batch.tokens_BT.push_back(20 * number + i);
    batch.labels_BT.push_back(20 * number + i + 1);
    batch.first_BT.push_back(number);
  }
  for (std::uint64_t i = 0; i < samples; ++i) batch.samples_B.push_back(i);
  return batch;
}

std::vector<std::int32_t> values_of(const Context& context, const Tensor& tensor) {
  const HostMirror here(context, tensor);
  const auto values = here.tensor().span<std::int32_t>();
  return {values.begin(), values.end()};
}

/// A rank that takes batches.
struct Rank {
  explicit Rank(Device device)
      : context(1, device),
        pool(device),
        pinned(context),
        positions(to_device(device, Buffer(Device::host(), samples * length * sizeof(std::int32_t)))) {}
  MicroBatches take(data::Batch& batch) {
    return MicroBatches(context, pool, pinned, batch, 2, vocabulary,
                        Tensor(positions, DType::i32, Shape{samples * length}));
  }
  Context context;
  parallel::BufferPool pool;
  PinnedUploader pinned;
  Buffer positions;
};

void check_batch(Rank& rank, MicroBatches& rows, std::int32_t number) {
  REQUIRE(rows.list().size() == 2);
  const data::Batch expected = numbered(number);
  std::int64_t first = 0;
  for (const model::MicroBatch& one : rows.list()) {
    const auto same = [&](const Tensor& values, const std::vector<std::int32_t>& all) {
      const auto begin = all.begin() + first * length;
      CHECK(values_of(rank.context, values) == std::vector(begin, begin + one.batch * length));
    };
    same(one.tokens_R, expected.tokens_BT);
    same(one.labels_R, expected.labels_BT);
    same(one.first_R, expected.first_BT);
    CHECK(one.positions_R.numel() == one.batch * length);
    CHECK(one.samples_B.front() == static_cast<std::uint64_t>(first));
    first += one.batch;
  }
  CHECK(first == samples);
}

}  // namespace

TEST_CASE("a batch in micro-batches on the host is the batch itself") {
  Rank rank(Device::host());
  data::Batch batch = numbered(3);
  MicroBatches rows = rank.take(batch);
  CHECK(rows.list().front().tokens_R.raw() == reinterpret_cast<std::byte*>(batch.tokens_BT.data()));
  check_batch(rank, rows, 3);
}

TEST_CASE("batches reach a device as they were, however many come before it is done with the first",
          "[device]") {
  constexpr std::int32_t count = 5;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const test_device::Use device(seed);
    Rank rank(Device::gpu(0));
    const ScopedStream other(Device::gpu(0));
    std::deque<data::Batch> batches;
    std::vector<MicroBatches> rows;
    for (std::int32_t number = 0; number < count; ++number) {
      rows.push_back(rank.take(batches.emplace_back(numbered(number))));
      for (std::int32_t& token : batches.back().tokens_BT) token = -1;
      accelerator().zero(other, rank.positions.data(), rank.positions.bytes());
      accelerator().record_event(other)->is_complete();  // does some of the work
    }
    for (std::int32_t number = 0; number < count; ++number)
      check_batch(rank, rows[static_cast<std::size_t>(number)], number);
  }
}

TEST_CASE("memory for batches on their way stands", "[device]") {
  const test_device::Use device(1);
  Rank rank(Device::gpu(0));
  std::size_t most_bytes = 0;
  for (std::int32_t number = 0; number < 5; ++number) {
    data::Batch batch = numbered(number);
    MicroBatches rows = rank.take(batch);
    rank.context.synchronize();
    if (number == 0) most_bytes = rank.pinned.peak_bytes();
  }
  CHECK(rank.pinned.peak_bytes() == most_bytes);
}
