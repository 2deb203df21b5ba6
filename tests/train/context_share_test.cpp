#include <catch2/catch.hpp>
#include <numeric>

#include "base/error.hpp"
#include "train/step/micro_batches.hpp"

using namespace dt;
using namespace dt::train;

namespace {

/// Returns two samples of `length` tokens. Each token is its own place.
data::Batch batch_of(std::int64_t length) {
  data::Batch batch;
  batch.num_samples = 2;
  batch.sequence_length = length;
  batch.tokens_BT.resize(static_cast<std::size_t>(2 * length));
  std::iota(batch.tokens_BT.begin(), batch.tokens_BT.end(), 0);
  batch.labels_BT = batch.tokens_BT;
  return batch;
}

const model::Layout two{.cp = 2};

}  // namespace

TEST_CASE("a rank's part of a batch is its two chunks of each micro-batch, with their positions") {
  const auto share = [](std::int64_t size, int rank) {
    data::Batch batch = batch_of(8);
    slice_context_rows(batch, size, two, {.cp = rank});
    CHECK(batch.sequence_length == 4);
    CHECK(batch.labels_BT == batch.tokens_BT);
    CHECK(batch.first_BT.empty());
    return batch;
  };
  using Values = std::vector<std::int32_t>;
  CHECK(share(1, 0).tokens_BT == Values{0, 1, 6, 7, 8, 9, 14, 15});
  CHECK(share(2, 0).tokens_BT == Values{0, 1, 8, 9, 6, 7, 14, 15});
  CHECK(share(2, 1).tokens_BT == Values{2, 3, 10, 11, 4, 5, 12, 13});
  CHECK(share(2, 1).positions_BT == Values{2, 3, 2, 3, 4, 5, 4, 5});
}

TEST_CASE("a batch is divided once, and in chunks of equal length") {
  data::Batch batch = batch_of(8);
  slice_context_rows(batch, 1, two, {.cp = 1});
  const auto refused = [&](const std::string& why) {
    CHECK_THROWS_WITH(slice_context_rows(batch, 1, two, {.cp = 1}), Catch::Contains(why));
  };
  refused("a part of sequences of 4 is divided again");
  batch = batch_of(6);
  refused("sequences of 6 in 4 chunks");
}
