#include "comm/mpi/world.hpp"

#include <catch2/catch.hpp>
#include <csignal>
#include <numeric>

#include "comm/backend.hpp"
#include "comm/mpi/the_world.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

Tensor view_of(std::vector<float>& numbers) {
  return {numbers.data(), DType::f32, {static_cast<std::int64_t>(numbers.size())}};
}

}  // namespace

TEST_CASE("a launched process knows it") {
  CHECK(mpi::is_launched());
  CHECK(the_world().communicator().name() == "world");
  CHECK_THAT(mpi::library_version(), Catch::Contains("MPI"));
}

TEST_CASE("a process has one World") {
  CHECK_THROWS_AS(mpi::World(), Error);
}

TEST_CASE("MPI's own collectives do what dt's do") {
  mpi::Collectives& theirs = the_world().collectives();
  const int n = the_world().communicator().size();
  const int rank = the_world().communicator().rank();
  std::vector<float> in(static_cast<std::size_t>(3 * n));
  std::iota(in.begin(), in.end(), static_cast<float>(rank));
  std::vector<float> out(in.size());
  std::vector<float> part(3);

  theirs.all_reduce(view_of(in), view_of(out), Reduction::sum);
  CHECK(out[2] == static_cast<float>(n * (n - 1) / 2 + 2 * n));
  theirs.reduce_scatter(view_of(in), view_of(part), Reduction::max);
  CHECK(part[1] == static_cast<float>(n - 1 + 3 * rank + 1));
  theirs.all_gather(view_of(part), view_of(out));
  CHECK(out[static_cast<std::size_t>(3 * n - 1)] == static_cast<float>(n - 1 + 3 * n - 1));
  theirs.broadcast(view_of(in), n - 1);
  CHECK(in[0] == static_cast<float>(n - 1));
  theirs.barrier();
  if (n > 1 && rank == 0) theirs.send(1, view_of(in));
  if (rank == 1) theirs.receive(0, view_of(out));
  part[0] = static_cast<float>(rank);
  theirs.send_receive((rank + 1) % n, view_of(part), (rank + n - 1) % n, view_of(in).flat(0, 3));
  CHECK(in[0] == static_cast<float>((rank + n - 1) % n));
}

// Run by a test of its own, which looks at the exit code.
TEST_CASE("one rank ends all, whatever they are waiting for", "[.abort]") {
  mpi::World& world = the_world();
  const int last = world.communicator().size() - 1;
  if (world.communicator().rank() == last) world.abort(4);
  world.communicator().barrier().wait();
}

// Likewise. The first rank made the memory that they share.
TEST_CASE("a rank that is killed amid large operations ends all", "[.killed]") {
  Communicator& group = the_world().communicator();
  std::vector<float> data(4'000'000, 1);
  for (int round = 0;; ++round) {
    const Work work = group.all_reduce(view_of(data), view_of(data));
    if (round == 3 && group.rank() == 0) std::raise(SIGKILL);
    work.wait();
  }
}
