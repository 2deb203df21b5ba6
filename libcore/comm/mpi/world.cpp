#include "comm/mpi/world.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#include "base/system/host.hpp"
#include "comm/mpi/transport.hpp"

namespace dt::comm::mpi {

struct Collectives::CollectivesState {
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
};

namespace {

constexpr int message_tag = 0;

MPI_Datatype reducible_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return MPI_DOUBLE;
    case DType::f32:
      return MPI_FLOAT;
    case DType::i64:
      return MPI_INT64_T;
    case DType::i32:
      return MPI_INT32_T;
    case DType::u64:
      return MPI_UINT64_T;
    case DType::u32:
      return MPI_UINT32_T;
    default:
      throw Error(ErrorKind::internal, fmt::format("MPI does not reduce {}", dtype_name(dtype)));
  }
}

/// Returns an MPI type of the same width, for data that are only moved.
MPI_Datatype movable_type(DType dtype) {
  switch (dtype_bytes(dtype)) {
    case 8:
      return MPI_UINT64_T;
    case 4:
      return MPI_UINT32_T;
    case 2:
      return MPI_UINT16_T;
    default:
      return MPI_UINT8_T;
  }
}

MPI_Op operation_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return MPI_SUM;
    case Reduction::product:
      return MPI_PROD;
    case Reduction::min:
      return MPI_MIN;
    case Reduction::max:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

int count_of(const Tensor& tensor) {
  constexpr std::int64_t most = Collectives::max_count;
  DT_CHECK(tensor.numel() <= most, "MPI counts at most {} elements, not {}", most, tensor.numel());
  return static_cast<int>(tensor.numel());
}

void check_parts(const Tensor& range, const Tensor& whole, int size) {
  DT_CHECK(range.numel() * size == whole.numel() && range.dtype() == whole.dtype(),
           "{} parts of {} elements are not {}", size, range.numel(), whole.numel());
}

}  // namespace

Collectives::Collectives(std::unique_ptr<CollectivesState> state) : state_(std::move(state)) {}

Collectives::~Collectives() = default;

void Collectives::all_reduce(const Tensor& in, const Tensor& out, Reduction reduction) {
  check_parts(in, out, 1);
  const void* source = in.raw() == out.raw() ? MPI_IN_PLACE : in.raw();
  check(MPI_Allreduce(source, out.raw(), count_of(in), reducible_type(in.dtype()), operation_of(reduction),
                      state_->communicator),
        "all-reduce");
}

void Collectives::reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction) {
  check_parts(out, in, state_->size);
  const void* source = in.raw() == out.raw() ? MPI_IN_PLACE : in.raw();
  check(MPI_Reduce_scatter_block(source, out.raw(), count_of(out), reducible_type(in.dtype()),
                                 operation_of(reduction), state_->communicator),
        "reduce-scatter");
}

void Collectives::all_gather(const Tensor& in, const Tensor& out) {
  check_parts(in, out, state_->size);
  const bool is_in_place = in.raw() == out.raw() + static_cast<std::size_t>(state_->rank) * in.bytes();
  const MPI_Datatype type = movable_type(in.dtype());
  check(MPI_Allgather(is_in_place ? MPI_IN_PLACE : in.raw(), count_of(in), type, out.raw(), count_of(in),
                      type, state_->communicator),
        "all-gather");
}

void Collectives::broadcast(const Tensor& data, int root) {
  check(MPI_Bcast(data.raw(), count_of(data), movable_type(data.dtype()), root, state_->communicator),
        "broadcast");
}

void Collectives::barrier() {
  check(MPI_Barrier(state_->communicator), "meet at a barrier");
}

void Collectives::send(int peer, const Tensor& data) {
  check(MPI_Send(data.raw(), count_of(data), movable_type(data.dtype()), peer, message_tag,
                 state_->communicator),
        "send");
}

void Collectives::receive(int peer, const Tensor& data) {
  check(MPI_Recv(data.raw(), count_of(data), movable_type(data.dtype()), peer, message_tag,
                 state_->communicator, MPI_STATUS_IGNORE),
        "receive");
}

void Collectives::send_receive(int to, const Tensor& out, int from, const Tensor& in) {
  check(MPI_Sendrecv(out.raw(), count_of(out), movable_type(out.dtype()), to, message_tag, in.raw(),
                     count_of(in), movable_type(in.dtype()), from, message_tag, state_->communicator,
                     MPI_STATUS_IGNORE),
        "exchange messages");
}

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

MPI_Comm duplicate_of_world() {
  MPI_Comm duplicate = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &duplicate), "make a group of all ranks");
  return duplicate;
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
  auto collectives = std::make_unique<Collectives::CollectivesState>();
  collectives->communicator = duplicate_of_world();
  MPI_Comm_rank(collectives->communicator, &collectives->rank);
  MPI_Comm_size(collectives->communicator, &collectives->size);
  state_->collectives.reset(new Collectives(std::move(collectives)));
  state_->communicator =
      std::make_unique<Communicator>(std::make_unique<MpiTransport>(duplicate_of_world()),
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
