// A reduce gives the root the bits of the serial tree; a gather and a scatter move the root's ranges.

#include <catch2/catch.hpp>

#include "comm/backend.hpp"
#include "comm/samples.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

template <DType dtype>
void check_reduce(Communicator& group, std::int64_t numel, int root, Reduction reduction, bool in_place) {
  using Stored = typename Element<dtype>::Stored;
  const bool is_root = group.rank() == root;
  const auto mine =
      repeated(numel, [&](std::int64_t i) { return sample<dtype>(Values::wild, group.rank(), i); });
  Guarded<Stored> in(numel), apart(in_place || !is_root ? 0 : numel);
  Guarded<Stored>& out = in_place ? in : apart;
  std::ranges::copy(mine, in.data());
  group.reduce(in.view(dtype), is_root ? out.view(dtype) : Tensor(), root, reduction).wait_host();
  const auto what = fmt::format("reduce of {} {} by {} ranks to {}, in place: {}", numel, dtype_name(dtype),
                                group.size(), root, in_place);
  if (is_root) {
    const auto result = repeated(
        numel, [&](std::int64_t i) { return combined<dtype>(reduction, Values::wild, group.size(), i); });
    require(std::memcmp(out.data(), result.data(), result.size() * sizeof(Stored)) == 0, what);
  }
  require((is_root && in_place) || std::memcmp(in.data(), mine.data(), mine.size() * sizeof(Stored)) == 0,
          "the input of a " + what);
  require(in.is_intact() && apart.is_intact(), "outside of a " + what);
}

std::uint16_t number_of(int rank, std::int64_t i) {
  return static_cast<std::uint16_t>(random_bits(rank, i));
}

/// Gathers N = n · `part` elements on the root, and scatters them again.
void check_moves(Communicator& group, std::int64_t part, int root, bool in_place) {
  const bool is_root = group.rank() == root;
  const auto mine = repeated(part, [&](std::int64_t i) { return number_of(group.rank(), i); });
  Guarded<std::uint16_t> all(is_root ? part * group.size() : 0), own(part);
  const Tensor whole = is_root ? all.view(DType::bf16) : Tensor();
  const Tensor local = is_root && in_place ? whole.flat(part * root, part) : own.view(DType::bf16);
  std::memcpy(local.raw(), mine.data(), local.bytes());
  group.gather(local, whole, root).wait_host();
  for (int rank = 0; is_root && rank < group.size(); ++rank) {
    const auto theirs = repeated(part, [&](std::int64_t i) { return number_of(rank, i); });
    require(
        std::ranges::equal(all.span().subspan(static_cast<std::size_t>(rank * part), theirs.size()), theirs),
        fmt::format("gather of parts of {} on {}: what rank {} brought is wrong", part, root, rank));
  }
  for (std::uint16_t& value : all.span()) value = static_cast<std::uint16_t>(value + 1);
  if (local.raw() == reinterpret_cast<std::byte*>(own.data())) std::ranges::fill(own.span(), std::uint16_t{});
  group.scatter(whole, local, root).wait_host();
  for (std::int64_t i = 0; i < part; ++i) {
    std::uint16_t value = 0;
    std::memcpy(&value, local.raw() + 2 * i, 2);
    require(value == static_cast<std::uint16_t>(mine[static_cast<std::size_t>(i)] + 1),
            fmt::format("scatter of parts of {} from {} is wrong", part, root));
  }
  require(all.is_intact() && own.is_intact(), "a gather or a scatter wrote outside");
}

}  // namespace

TEST_CASE("a reduce gives the root the bits of the serial tree, in place and apart") {
  on_ranks([](Communicator& group) {
    for (int root = 0; root < group.size(); ++root) {
      for (const bool in_place : {false, true}) {
        for (const std::int64_t numel : {0, 1, 1000}) {
          check_reduce<DType::f32>(group, numel, root, Reduction::sum, in_place);
          check_reduce<DType::bf16>(group, numel, root, Reduction::max, in_place);
        }
      }
    }
    for (const bool in_place : {false, true}) {
      check_reduce<DType::f32>(group, 300'007, group.size() - 1, Reduction::sum, in_place);
      check_reduce<DType::f16>(group, 300'007, 0, Reduction::product, in_place);
      check_reduce<DType::i64>(group, 1'000'003, group.size() / 2, Reduction::sum, in_place);
    }
    group.set_bucket_bytes(10'000);
    check_reduce<DType::f64>(group, 100'003, 0, Reduction::min, false);
  });
}

TEST_CASE("a reduce borrows no more memory than the bucket allows") {
  on_ranks([](Communicator& group) {
    constexpr std::size_t least_block = 4096, under_way = 4;
    group.set_bucket_bytes(10'000);
    check_reduce<DType::f32>(group, 16'000, 0, Reduction::sum, false);
    require(group.most_staging_bytes() <= 2 * under_way * least_block,
            fmt::format("{} bytes were borrowed", group.most_staging_bytes()));
  });
}

TEST_CASE("a gather brings all parts to the root, and a scatter takes them back") {
  on_ranks([](Communicator& group) {
    for (int root = 0; root < group.size(); ++root) {
      for (const std::int64_t part : {0, 1, 17, 5000}) {
        for (const bool in_place : {false, true}) check_moves(group, part, root, in_place);
      }
    }
    check_moves(group, 400'003, group.size() - 1, true);
    group.set_bucket_bytes(10'000);
    check_moves(group, 30'001, 0, false);
  });
}

TEST_CASE("absent tensors, ranges that are not equal, and roots that are no ranks are refused") {
  on_ranks([](Communicator& group) {
    std::vector<float> values(static_cast<std::size_t>(group.size() + 1));
    const Tensor one = host_tensor(values).flat(0, 1);
    const auto is_refused = [&](const auto& body) { return error_of(body).kind() == ErrorKind::internal; };
    require(is_refused([&] { group.reduce(one, one, group.size()); }), "an unknown root is accepted");
    require(is_refused([&] { group.gather(one, one, -1); }), "an unknown root is accepted");
    require(is_refused([&] { group.reduce(Tensor(), one, 0); }), "an absent input is accepted");
    if (group.rank() > 0 || group.size() == 1) return;
    require(is_refused([&] { group.gather(one, host_tensor(values), 0); }), "unequal ranges are accepted");
    require(is_refused([&] { group.scatter(host_tensor(values), one, 0); }), "unequal ranges are accepted");
  });
}
