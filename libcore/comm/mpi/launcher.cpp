#include "comm/mpi/launcher.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <mpi.h>
#include <utility>

#include "base/system/host.hpp"

namespace dt::comm::mpi {

namespace {

/// The last row is that of all other libraries. Cray MPICH stands before MPICH, whose name it contains.
constexpr auto libraries = std::to_array<Launching>({
    {"Open MPI", "--mpi=pmix", "mpirun", ""},
    {"CRAY MPICH", "--mpi=cray_shasta", "mpiexec", ""},
    {"Intel(R) MPI", "--mpi=pmi2", "mpiexec", "I_MPI_PMI_LIBRARY with the path of Slurm's libpmi2.so"},
    {"MPICH", "--mpi=pmi2", "mpiexec", ""},
    {"MVAPICH", "--mpi=pmi2", "mpiexec", ""},
    {"", "--mpi=pmix", "mpiexec", ""},
});
constexpr const Launching& open_mpi = libraries.front();

bool is_set(const char* name) {
  return environment_variable(name).has_value();
}

/// Returns the number in a variable; 1 if it is unset.
int number_in(const char* name) {
  return std::max(1, std::atoi(environment_variable(name).value_or("1").c_str()));
}

bool is_open_mpi() {
  return &launching() == &open_mpi;
}

bool is_under_mpirun() {
  return is_set("OMPI_COMM_WORLD_SIZE");
}

/// Returns whether Hydra, the mpiexec of MPICH and MPIs derived from it, started this process. In a Slurm job
/// it starts its proxies with srun, whose variables then count nodes.
bool is_under_hydra() {
  return is_set("MPI_LOCALNRANKS");
}

/// Returns the number of tasks of this srun step; 1 if there is no step.
int num_srun_tasks() {
  return is_set("SLURM_PROCID") ? number_in("SLURM_STEP_NUM_TASKS") : 1;
}

bool is_under_srun() {
  return !is_under_mpirun() && !is_under_hydra() && num_srun_tasks() > 1;
}

}  // namespace

std::string full_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string library_version() {
  std::string version = full_library_version();
  version.resize(std::min(version.size(), version.find_first_of(std::string("\n\0", 2))));
  // MPICH writes "MPICH Version:\t4.0.2".
  std::ranges::replace_if(
      version, [](unsigned char c) { return std::isspace(c) != 0; }, ' ');
  const std::string label = " Version:";
  if (const auto at = version.find(label); at != std::string::npos) version.erase(at, label.size());
  return version;
}

const Launching& launching_of(std::string_view version) {
  return *std::ranges::find_if(
      libraries, [&](const Launching& one) { return version.find(one.library) != version.npos; });
}

const Launching& launching() {
  static const Launching& found = launching_of(library_version());
  return found;
}

int num_announced_ranks() {
  if (is_under_mpirun()) return number_in("OMPI_COMM_WORLD_SIZE");
  if (is_under_srun()) return num_srun_tasks();
  return number_in("PMI_SIZE");
}

bool is_launched() {
  if (is_under_mpirun() || is_set("PMIX_RANK") || num_announced_ranks() > 1) return true;
  return !is_open_mpi() && (is_set("PMI_RANK") || is_set("PALS_RANKID"));
}

bool would_not_start() {
  return is_open_mpi() && !is_under_mpirun() && !is_set("PMIX_RANK") && num_announced_ranks() > 1;
}

Error launcher_mismatch(const std::string& to_work_alone) {
  const Launching& ours = launching();
  std::string library = library_version();
  library.resize(std::min(library.size(), library.find(',')));  // Open MPI's goes on with its packager
  if (!is_under_srun()) {
    return Error(ErrorKind::environment, "a launcher of another MPI started this process",
                 fmt::format("use the {} of {}", ours.command, library));
  }
  std::string remedy = fmt::format(
      "{} needs srun {}{} (srun --mpi=list shows what this Slurm supports), or start the ranks with its {}",
      library, ours.srun_option, ours.srun_needs.empty() ? "" : fmt::format(", and {}", ours.srun_needs),
      ours.command);
  if (!to_work_alone.empty()) remedy += "; to run each task alone, give " + to_work_alone;
  return Error(ErrorKind::environment,
               fmt::format("srun started {} tasks, but MPI sees each as a job of one rank", num_srun_tasks()),
               std::move(remedy));
}

}  // namespace dt::comm::mpi
