#include "comm/mpi/world.hpp"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#include "comm/mpi/collectives.hpp"
#include "comm/mpi/launcher.hpp"
#include "comm/mpi/launcher_barrier.hpp"
#include "comm/mpi/transport.hpp"

namespace dt::comm::mpi {

namespace {

constexpr unsigned abort_s = 5;

void initialize(Threads threads, const std::string& to_work_alone) {
  const int level = threads == Threads::single ? MPI_THREAD_SINGLE : MPI_THREAD_SERIALIZED;
  if (would_not_start()) throw launcher_mismatch(to_work_alone);
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  DT_CHECK(is_initialized == 0, "a process has one World, once");
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, level, &provided), "start");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (num_announced_ranks() > 1 && size != num_announced_ranks()) {
    MPI_Finalize();
    throw launcher_mismatch(to_work_alone);
  }
  if (provided < level) {
    throw environment_error("{} was built without support for threads", library_version());
  }
}

void check_tags() {
  void* value = nullptr;
  int is_known = 0;
  check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &is_known), "get its largest tag");
  const int largest = is_known != 0 ? *static_cast<int*>(value) : 32767;
  if (largest < (1 << tag_bits) - 1) {
    throw environment_error("{} allows tags up to {}; dt needs tags up to {}", library_version(), largest,
                            (1 << tag_bits) - 1);
  }
}

}  // namespace

struct World::State {
  std::unique_ptr<Collectives> collectives;
  std::unique_ptr<Communicator> communicator;
};

World::World(Threads threads, const std::string& to_work_alone) : state_(std::make_unique<State>()) {
  initialize(threads, to_work_alone);
  check_tags();
  state_->collectives.reset(new Collectives);
  state_->communicator = std::make_unique<Communicator>(
      std::make_unique<MpiTransport>(duplicate_of_world(), have_cores_of_their_own()),
      std::make_shared<Engine>(std::make_shared<Recorder>()), "world");
}

World::~World() {
  state_.reset();
  // The other ranks may never come to the end that MPI_Finalize waits for.
  if (std::uncaught_exceptions() != 0) return;
  meet_to_finalize();
  MPI_Finalize();
}

Communicator& World::communicator() {
  return *state_->communicator;
}

Collectives& World::collectives() {
  return *state_->collectives;
}

void World::abort(int exit_code) noexcept {
  // MPI_Abort talks to the launcher. It may hang if the launcher, or MPI itself, is what failed.
  std::signal(SIGALRM, SIG_DFL);
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
  ::alarm(abort_s);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  _exit(exit_code);
}

}  // namespace dt::comm::mpi
