// An all_to_all brings each part to its rank, whatever the sizes, and goes beside other operations.

#include <catch2/catch.hpp>
#include <numeric>

#include "comm/all_to_all.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

HostOf in_rows_of(int per_host) {
  return [per_host](int rank) { return "n" + std::to_string(rank / per_host); };
}

/// Runs with all ranks on one host, each on its own, and several on each.
void on_all_hosts(const std::function<void(Communicator&)>& body) {
  on_ranks(body);
  for (const int per_host : {2, 4}) on_ranks_of(in_rows_of(per_host), body);
}

void check_parts(Communicator& group, const std::string& what, const CountOf& count_of, DType dtype) {
  Parts parts(group, count_of, static_cast<std::int64_t>(dtype_bytes(dtype)));
  const std::vector<std::uint8_t> before = parts.in;
  Guarded<std::uint8_t> out(std::ssize(parts.expected));
  group.all_to_all(view_of(parts.in, dtype), view_of(out.span(), dtype), parts.in_counts, parts.out_counts)
      .wait_host();
  require(std::ranges::equal(out.span(), parts.expected) && out.is_intact() && parts.in == before,
          fmt::format("all_to_all of {} of {}, {} ranks, is wrong", what, dtype_name(dtype), group.size()));
}

}  // namespace

TEST_CASE("an all_to_all brings each rank its part of every rank, of any size", "[hosts]") {
  on_all_hosts([](Communicator& group) {
    for (const auto& [what, count_of] : all_counts(group.size(), 30'001)) {
      for (const DType dtype : {DType::u8, DType::bf16, DType::f32, DType::i64})
        check_parts(group, what, count_of, dtype);
    }
  });
}

TEST_CASE("large parts of an all_to_all arrive whole, whatever the bucket", "[hosts][slow]") {
  on_all_hosts([](Communicator& group) {
    const auto large = [](int from, int to) { return std::int64_t{300'000} + 100'000 * from - 7 * to; };
    check_parts(group, "large parts", large, DType::f32);
    group.set_bucket_bytes(10'000);
    check_parts(group, "large parts beside a small bucket", large, DType::bf16);
  });
}

TEST_CASE("without counts an all_to_all has equal parts") {
  on_ranks([](Communicator& group) {
    std::vector<std::int64_t> in(static_cast<std::size_t>(3 * group.size())), out(in.size());
    std::iota(in.begin(), in.end(), 1000 * group.rank());
    group.all_to_all(host_tensor(in), host_tensor(out)).wait_host();
    for (int from = 0; from < group.size(); ++from) {
      for (int i = 0; i < 3; ++i) {
        require(out[static_cast<std::size_t>(3 * from + i)] == 1000 * from + 3 * group.rank() + i,
                "an equal part is wrong");
      }
    }
  });
}

TEST_CASE("several all_to_all go beside other operations, in any order of waits", "[hosts]") {
  on_all_hosts([](Communicator& group) {
    const std::unique_ptr<Communicator> half = group.split(group.rank() % 2, group.rank(), "half");
    const auto counts = [](std::int64_t i) {
      return [i](int from, int to) { return 997 * i * ((from + to) % 3); };
    };
    std::vector<Parts> parts;
    std::vector<std::vector<std::uint8_t>> outs;
    std::vector<std::int64_t> sums(6, 1), numbers(6, group.rank());
    std::vector<Work> works;
    for (std::int64_t i = 0; i < 6; ++i) {
      Communicator& chosen = i % 2 == 0 ? group : *half;
      parts.emplace_back(chosen, counts(i), 1);
      outs.emplace_back(parts.back().expected.size());
    }
    for (std::size_t i = 0; i < 6; ++i) {
      Communicator& chosen = i % 2 == 0 ? group : *half;
      works.push_back(chosen.all_to_all(view_of(parts[i].in, DType::u8), view_of(outs[i], DType::u8),
                                        parts[i].in_counts, parts[i].out_counts));
      works.push_back(chosen.all_reduce(host_tensor(sums).flat(static_cast<std::int64_t>(i), 1),
                                        host_tensor(sums).flat(static_cast<std::int64_t>(i), 1)));
      works.push_back(chosen.broadcast(host_tensor(numbers).flat(static_cast<std::int64_t>(i), 1), 0));
    }
    for (std::size_t i = 0; i < works.size(); ++i)
      works[(5 * i + static_cast<std::size_t>(group.rank())) % works.size()].wait_host();
    for (std::size_t i = 0; i < 6; ++i) {
      require(outs[i] == parts[i].expected, "one of several all_to_all is wrong");
      require(sums[i] == (i % 2 == 0 ? group : *half).size(), "a sum beside an all_to_all is wrong");
      require(numbers[i] == (i % 2 == 0 ? 0 : group.rank() % 2), "a broadcast beside an all_to_all is wrong");
    }
  });
}

TEST_CASE("small parts for ranks of one host travel without messages, beside large ones", "[hosts]") {
  on_ranks_of(in_rows_of(64), [](Communicator& group) {
    if (group.size() < 2) return;
    constexpr std::int64_t large = 300'001;
    const auto count_of = [](int from, int to) { return from == 0 && to == 1 ? large : 1000 + from; };
    check_parts(group, "first parts", count_of, DType::u8);  // also finds where ranks are
    const std::int64_t before = group.engine().recorder().message_bytes();
    check_parts(group, "parts of which one is large", count_of, DType::u8);
    require(group.engine().recorder().message_bytes() - before == (group.rank() == 0 ? large : 0),
            "an all_to_all on one host sends other bytes");
  });
}

TEST_CASE("small parts for other hosts travel together", "[hosts]") {
  on_ranks_of(in_rows_of(2), [](Communicator& group) {
    if (group.size() % 2 != 0 || group.size() < 4) return;
    const auto count = [](int, int) { return std::int64_t{8}; };
    check_parts(group, "first parts", count, DType::u8);  // also finds where ranks are
    const std::int64_t before = group.engine().recorder().message_bytes();
    check_parts(group, "parts of 8 bytes", count, DType::u8);
    const std::int64_t hosts = group.size() / 2;
    // To the neighbour: counts, parts that it passes on, its own part. To each other host: two parts.
    require(group.engine().recorder().message_bytes() - before ==
                8 * hosts + 8 * (hosts - 1) + 8 + 2 * 8 * (hosts - 1),
            "an all_to_all of small parts sends other bytes");
  });
}

TEST_CASE(
    "an all_to_all is recorded with the bytes that the rank gives, and counts that do not fit are refused") {
  on_ranks([](Communicator& group) {
    Parts parts(
        group, [](int from, int to) { return std::int64_t{from + to}; }, 4);
    std::vector<std::uint8_t> out(parts.expected.size());
    const Tensor in = view_of(parts.in, DType::f32), to = view_of(out, DType::f32);
    Recorder& recorder = group.engine().recorder();
    const std::int64_t before = recorder.bytes(OperationKind::all_to_all);
    group.all_to_all(in, to, parts.in_counts, parts.out_counts).wait_host();
    require(recorder.bytes(OperationKind::all_to_all) - before == static_cast<std::int64_t>(in.bytes()),
            "other bytes are recorded");
    std::vector<std::int64_t> wrong = parts.in_counts;
    ++wrong.back();
    require(
        error_of([&] { group.all_to_all(in, to, wrong, parts.out_counts); }).kind() == ErrorKind::internal,
        "counts that the tensor does not have are accepted");
    wrong.push_back(-1);
    require(
        error_of([&] { group.all_to_all(in, to, wrong, parts.out_counts); }).kind() == ErrorKind::internal,
        "more counts than ranks are accepted");
  });
}
