#include "comm/mpi/launcher_barrier.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <unistd.h>

#include "base/system/host.hpp"
#include "comm/mpi/launcher.hpp"

namespace dt::comm::mpi {

namespace {

/// Enters the barrier of PMI-1, which Hydra and Slurm support. The launcher is at the other end of `fd`.
void pmi_barrier(int fd) {
  constexpr std::string_view request = "cmd=barrier_in\n";
  for (std::string_view left = request; !left.empty();) {
    const ssize_t sent = ::write(fd, left.data(), left.size());
    if (sent < 0 && errno != EINTR) return;
    if (sent > 0) left.remove_prefix(static_cast<std::size_t>(sent));
  }
  char c = 0;
  while (c != '\n') {  // the answer is one line
    const ssize_t got = ::read(fd, &c, 1);
    if (got == 0 || (got < 0 && errno != EINTR)) return;
  }
}

}  // namespace

bool must_meet_to_finalize(std::string_view version) {
  const std::string_view name = "MPICH Version:";
  const std::size_t at = version.find(name);
  if (at == version.npos || version.find("ch4:ucx") == version.npos) return false;
  if (version.find("--with-pmi=") != version.npos) return false;  // it may use another protocol
  const std::size_t begin = version.find_first_not_of(" \t", at + name.size());
  if (begin == version.npos) return false;
  return version.substr(begin, 2) == "4." && version.substr(begin + 2, 1) <= "2";
}

void meet_to_finalize() {
  const std::optional<std::string> fd = environment_variable("PMI_FD");
  const bool is_pmi_1 = environment_variable("MPIR_CVAR_PMI_VERSION").value_or("1") == "1";
  if (fd && is_pmi_1 && must_meet_to_finalize(full_library_version())) pmi_barrier(std::atoi(fd->c_str()));
}

}  // namespace dt::comm::mpi
