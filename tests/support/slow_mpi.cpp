// A library that the tools' cases load before MPI's: MPI_Sendrecv of 1,000 bytes or more takes
// 50 ms longer, which is much beside the delays of a busy machine. Between two ranks that
// $DT_TEST_SLOW_LINKS names, in a list of RANK-RANK, it takes two seconds longer.
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace {

bool is_slow(int rank, int peer) {
  const char* const links = std::getenv("DT_TEST_SLOW_LINKS");
  const auto named = [&](int a, int b) {
    const std::string link = " " + std::to_string(a) + "-" + std::to_string(b) + " ";
    return (" " + std::string(links) + " ").find(link) != std::string::npos;
  };
  return links != nullptr && (named(rank, peer) || named(peer, rank));
}

}  // namespace

extern "C" int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                            void* in, int in_count, MPI_Datatype in_type, int from, int in_tag,
                            MPI_Comm communicator, MPI_Status* status) {
  int rank = 0, element_bytes = 0;
  PMPI_Comm_rank(communicator, &rank);
  PMPI_Type_size(out_type, &element_bytes);
  if (static_cast<long>(out_count) * element_bytes >= 1000)
    std::this_thread::sleep_for(std::chrono::milliseconds(is_slow(rank, to) ? 2000 : 50));
  return PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag,
                       communicator, status);
}
