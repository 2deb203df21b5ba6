#include "comm/mpi/world.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#include "base/system/host.hpp"
#include "comm/mpi/collectives.hpp"
#include "comm/mpi/transport.hpp"

namespace dt::comm::mpi {

namespace {

constexpr unsigned abort_s = 5;

bool is_set(const char* name) {
  return environment_variable(name).has_value();
}

/// Returns the number of tasks of this srun step; 1 if there is no step.
int num_srun_tasks() {
  const auto tasks = environment_variable("SLURM_STEP_NUM_TASKS");
  if (!tasks || !is_set("SLURM_PROCID")) return 1;
  return std::max(1, std::atoi(tasks->c_str()));
}

bool is_under_mpirun() {
  return is_set("OMPI_COMM_WORLD_SIZE");
}

Error strangers(int num_tasks, const std::string& to_work_alone) {
  std::string remedy =
      "add --mpi=pmix to srun (srun --mpi=list shows what this Slurm offers), or start with mpirun";
  if (!to_work_alone.empty()) remedy += "; where each task is to work alone, give " + to_work_alone;
  return Error(ErrorKind::environment,
               fmt::format("srun started {} tasks, but MPI cannot see that they belong together", num_tasks),
               std::move(remedy));
}

/// Returns whether a launcher of another MPI, such as MPICH's, started the process. This MPI
/// library would run each of its processes as a job of one rank.
bool is_under_other_launcher() {
  return environment_variable("PMI_SIZE").value_or("1") != "1" && !is_under_mpirun() && !is_set("PMIX_RANK");
}

void initialize(Threads threads, const std::string& to_work_alone) {
  const int level = threads == Threads::single ? MPI_THREAD_SINGLE : MPI_THREAD_SERIALIZED;
  // Open MPI would not return an error here but end the process.
  if (!is_under_mpirun() && num_srun_tasks() > 1 && !is_set("PMIX_RANK"))
    throw strangers(num_srun_tasks(), to_work_alone);
  if (is_under_other_launcher()) {
    throw Error(ErrorKind::environment, "a launcher of another MPI started this process",
                "use the mpirun of " + library_version());
  }
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  DT_CHECK(is_initialized == 0, "a process has one World, once");
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, level, &provided), "start");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!is_under_mpirun() && num_srun_tasks() > 1 && size != num_srun_tasks()) {
    MPI_Finalize();
    throw strangers(num_srun_tasks(), to_work_alone);
  }
  if (provided < level) {
    throw environment_error("{} was built without support for threads", library_version());
  }
}

void check_tags() {
  void* value = nullptr;
  int is_known = 0;
  check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &is_known), "tell its largest tag");
  const int largest = is_known != 0 ? *static_cast<int*>(value) : 32767;
  if (largest < (1 << tag_bits) - 1) {
    throw environment_error("{} allows tags up to {}; {} are needed", library_version(), largest,
                            (1 << tag_bits) - 1);
  }
}

}  // namespace

bool is_launched() {
  return is_under_mpirun() || is_set("PMIX_RANK") || num_srun_tasks() > 1 || is_under_other_launcher();
}

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
  if (std::uncaught_exceptions() == 0) MPI_Finalize();
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

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data(), static_cast<std::size_t>(length));
  return version.substr(0, version.find_first_of(std::string("\n\0", 2)));
}

}  // namespace dt::comm::mpi
