#include "comm/diagnostics/clocks.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <mutex>

#include "comm/threads/thread_group.hpp"

using namespace dt;
using namespace dt::comm;

namespace {

/// Returns what each of three ranks finds; rank r's clock is ahead by r times `ahead_each_s`.
std::vector<ClockOffset> compared(double ahead_each_s) {
  std::vector<ClockOffset> found(3);
  run_threads(3, [&](Communicator& group) {
    const double ahead_s = group.rank() * ahead_each_s;
    found[static_cast<std::size_t>(group.rank())] =
        synchronize_clocks(group, [ahead_s] { return monotonic_s() + ahead_s; });
    return 0;
  });
  return found;
}

}  // namespace

TEST_CASE("ranks find how far their clocks are ahead, to within what they say") {
  const std::vector<ClockOffset> clocks = compared(1000);
  for (int rank = 0; rank < 3; ++rank) {
    const ClockOffset& clock = clocks[static_cast<std::size_t>(rank)];
    CHECK(std::abs(clock.ahead_s - rank * 1000) <= clock.error_s + 1e-9);
    CHECK(clock.error_s < 0.1);
    CHECK((clock.error_s > 0) == (rank > 0));
    CHECK(clock.zero_s - clock.ahead_s == Approx(clocks[0].zero_s).epsilon(1e-12));
  }
}

TEST_CASE("one host's clock is ahead of itself by nothing") {
  for (const ClockOffset& clock : compared(0)) CHECK(clock.ahead_s == 0);
}

TEST_CASE("a rank alone has its own clock") {
  run_alone([](Communicator& group) {
    const double before_s = monotonic_s();
    const ClockOffset clock = synchronize_clocks(group);
    CHECK(clock.ahead_s == 0);
    CHECK(clock.error_s == 0);
    CHECK((clock.zero_s >= before_s && clock.zero_s <= monotonic_s()));
    return 0;
  });
}
