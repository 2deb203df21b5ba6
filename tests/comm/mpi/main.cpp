// Runs all tests on every rank; rank 0 reports. A rank that fails ends all ranks.

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <mpi.h>

#include "comm/backend.hpp"
#include "comm/mpi/the_world.hpp"
#include "comm/mpi/transport.hpp"
#include "comm/mpi/world.hpp"

namespace dt::comm::test {

namespace {

mpi::World* world = nullptr;

}  // namespace

mpi::World& the_world() {
  return *world;
}

void on_ranks_of(const HostOf& host_of, const std::function<void(Communicator&)>& body) {
  try {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm everyone = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &everyone);
    Communicator group(std::make_unique<mpi::MpiTransport>(everyone, false),
                       std::make_shared<Engine>(std::make_shared<Recorder>()), "world",
                       host_of(world->communicator().rank()));
    body(group);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: rank {}: {}\n", Catch::getResultCapture().getCurrentTestName(),
               world->communicator().rank(), error.what());
    world->abort(1);
  }
  SUCCEED("no rank failed");
}

}  // namespace dt::comm::test

int main(int argc, char** argv) {
  try {
    dt::comm::mpi::World world;
    dt::comm::test::world = &world;
    Catch::Session session;
    if (session.applyCommandLine(argc, argv) != 0) return 2;
    if (world.communicator().rank() > 0) session.configData().outputFilename = "/dev/null";
    return session.run();
  } catch (const dt::Error& error) {
    fmt::print(stderr, "{}\n", error.message());
    return error.exit_code();
  }
}
