#include "comm/mpi/world.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <numeric>

#include "comm/backend.hpp"
#include "comm/mpi/collectives.hpp"
#include "comm/mpi/launcher.hpp"
#include "comm/mpi/launcher_barrier.hpp"
#include "comm/mpi/the_world.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

TEST_CASE("a launched process knows it") {
  CHECK(mpi::is_launched());
  CHECK(the_world().communicator().name() == "world");
  CHECK_THAT(mpi::library_version(), Catch::Contains("MPI"));
}

TEST_CASE("an MPI's version says how srun connects its ranks") {
  const auto option = [](const char* version) { return mpi::launching_of(version).srun_option; };
  CHECK(option("Open MPI v4.1.4, package: Debian") == "--mpi=pmix");
  CHECK(option("MPICH 4.0.2") == "--mpi=pmi2");
  CHECK(option("MVAPICH2 2.3.7") == "--mpi=pmi2");
  CHECK(option("MPI VERSION : CRAY MPICH version 8.1.28 (ANL base 3.4a2)") == "--mpi=cray_shasta");
  CHECK(option("Intel(R) MPI Library 2021.11 for Linux* OS") == "--mpi=pmi2");
  CHECK(option("another") == "--mpi=pmix");
  CHECK_FALSE(mpi::launching_of("Intel(R) MPI Library 2021.11").srun_needs.empty());
  CHECK(&mpi::launching() == &mpi::launching_of(mpi::library_version()));
}

TEST_CASE("ranks meet before MPI_Finalize where MPICH may hang in it") {
  const auto meets = [](const char* version, const char* device, const char* configured) {
    return mpi::must_meet_to_finalize(std::string("MPICH Version:    \t") + version +
                                      "\nMPICH Device:    \t" + device + "\nMPICH configure: \t" +
                                      configured);
  };
  CHECK(meets("4.0.2", "ch4:ucx", "--with-pm=hydra"));
  CHECK(meets("4.2.3", "ch4:ucx", ""));
  CHECK_FALSE(meets("4.3.0", "ch4:ucx", ""));
  CHECK_FALSE(meets("4.0.2", "ch4:ofi", ""));
  CHECK_FALSE(meets("3.4.3", "ch4:ucx", ""));
  CHECK_FALSE(meets("4.0.2", "ch4:ucx", "--with-pmi=pmi2"));
  CHECK_FALSE(mpi::must_meet_to_finalize("Open MPI v4.1.4, package: Debian"));
  CHECK_FALSE(mpi::must_meet_to_finalize("MPICH Version:"));
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
  std::vector<float> local(3);

  using enum OperationKind;
  theirs.run({.kind = all_reduce, .in = host_tensor(in), .out = host_tensor(out)});
  CHECK(out[2] == static_cast<float>(n * (n - 1) / 2 + 2 * n));
  theirs.run({.kind = reduce_scatter,
              .in = host_tensor(in),
              .out = host_tensor(local),
              .reduction = Reduction::max});
  CHECK(local[1] == static_cast<float>(n - 1 + 3 * rank + 1));
  theirs.run({.kind = all_gather, .in = host_tensor(local), .out = host_tensor(out)});
  CHECK(out[static_cast<std::size_t>(3 * n - 1)] == static_cast<float>(n - 1 + 3 * n - 1));
  theirs.run({.kind = broadcast, .in = host_tensor(in), .out = host_tensor(in), .root = n - 1});
  CHECK(in[0] == static_cast<float>(n - 1));
  std::vector<float> mine(static_cast<std::size_t>(n), static_cast<float>(rank)), theirs_too(mine.size());
  theirs.run({.kind = all_to_all, .in = host_tensor(mine), .out = host_tensor(theirs_too)});
  CHECK(theirs_too.back() == static_cast<float>(n - 1));
  // Each rank gives all it has to the last.
  std::vector<std::int64_t> given(mine.size()), got(mine.size(), rank == n - 1 ? n : 0);
  given.back() = n;
  std::vector<float> all(static_cast<std::size_t>(rank == n - 1 ? n * n : 0));
  theirs.run({.kind = all_to_all,
              .in = host_tensor(mine),
              .out = Tensor(all.data(), DType::f32, {std::ssize(all)}, Device::host()),
              .in_counts = given,
              .out_counts = got});
  if (rank == n - 1) CHECK(all[static_cast<std::size_t>(n * n - 1)] == static_cast<float>(n - 1));
  theirs.run({.kind = reduce, .in = host_tensor(mine), .out = host_tensor(theirs_too), .root = n - 1});
  if (rank == n - 1) CHECK(theirs_too[0] == static_cast<float>(n * (n - 1) / 2));
  std::ranges::fill(out, 0.0F);
  theirs.run({.kind = gather, .in = host_tensor(local), .out = host_tensor(out), .root = 0});
  if (rank == 0) CHECK(out[static_cast<std::size_t>(3 * n - 1)] == static_cast<float>(n - 1 + 3 * n - 1));
  theirs.run({.kind = scatter, .in = host_tensor(in), .out = host_tensor(local), .root = n - 1});
  CHECK(local[2] == static_cast<float>(n - 1 + 3 * rank + 2));
  theirs.run({.kind = barrier});
  if (n > 1 && rank == 0) theirs.send(1, host_tensor(in));
  if (rank == 1) theirs.receive(0, host_tensor(out));
  local[0] = static_cast<float>(rank);
  theirs.send_receive((rank + 1) % n, host_tensor(local), (rank + n - 1) % n, host_tensor(in).flat(0, 3));
  CHECK(in[0] == static_cast<float>((rank + n - 1) % n));
}

// A separate test runs this case and checks the exit code.
TEST_CASE("MPI's own collectives count the elements of a rank's part, not of all parts") {
  using enum OperationKind;
  const mpi::Collectives& theirs = the_world().collectives();
  const int n = the_world().communicator().size(), rank = the_world().communicator().rank();
  constexpr std::int64_t part = mpi::Collectives::max_count;
  std::byte place{};  // nothing is called, so nothing is touched
  const Tensor one(&place, DType::u8, {part}, Device::host());
  const Tensor all(&place, DType::u8, {n * part}, Device::host());
  const Tensor too_many(&place, DType::u32, {part + 1}, Device::host());
  CHECK_NOTHROW(theirs.prepare({.kind = all_gather, .in = one, .out = all}));
  CHECK_NOTHROW(theirs.prepare({.kind = scatter, .in = rank == 0 ? all : Tensor(), .out = one}));
  CHECK_NOTHROW(theirs.prepare({.kind = all_to_all, .in = all, .out = all}));
  CHECK_THROWS_AS(theirs.prepare({.kind = all_reduce, .in = too_many, .out = too_many}), Error);
}

TEST_CASE("one rank ends all, whatever they are waiting for", "[.abort]") {
  mpi::World& world = the_world();
  const int last = world.communicator().size() - 1;
  if (world.communicator().rank() == last) world.abort(4);
  world.communicator().barrier().wait_host();
}

// A separate test runs this case, too. The first rank made the memory that the ranks share.
TEST_CASE("a rank that is killed amid large operations ends all", "[.killed]") {
  Communicator& group = the_world().communicator();
  std::vector<float> data(4'000'000, 1), in(4'000'000 / 6 * 6, 1), out(in.size());
  for (int round = 0;; ++round) {
    const Work sum = group.all_reduce(host_tensor(data), host_tensor(data));
    const Work exchange = group.all_to_all(host_tensor(in), host_tensor(out));
    if (round == 3 && group.rank() == 0) std::raise(SIGKILL);
    sum.wait_host();
    exchange.wait_host();
  }
}
