#include "base/system/host.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <sched.h>
#include <thread>
#include <vector>

using namespace dt;

TEST_CASE("the host is known") {
  CHECK_FALSE(host_name().empty());
  CHECK(available_cores() >= 1);
  CHECK(usable_memory_bytes() > (std::uint64_t{64} << 20));
}

TEST_CASE("available cores follow the affinity mask") {
  int cores = 0;
  std::thread([&] {
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    sched_setaffinity(0, sizeof mask, &mask);
    cores = available_cores();
  }).join();
  CHECK(cores == 1);
}

TEST_CASE("peak memory grows by what is touched") {
  const std::uint64_t before = peak_resident_bytes();
  std::vector<char> block(std::size_t{64} << 20);
  volatile char* data = block.data();  // volatile hides from the compiler that nothing reads the data
  for (std::size_t i = 0; i < block.size(); i += 1024) data[i] = 1;
  CHECK(peak_resident_bytes() >= std::max<std::uint64_t>(before, block.size()));
}

TEST_CASE("an unset variable differs from an empty one") {
  setenv("DT_TEST_VARIABLE", "", 1);
  CHECK(environment_variable("DT_TEST_VARIABLE") == "");
  unsetenv("DT_TEST_VARIABLE");
  CHECK_FALSE(environment_variable("DT_TEST_VARIABLE").has_value());
}

TEST_CASE("launchers say a process's rank, and how many are on its host") {
  // A variable of Slurm's counts only beside a step of several tasks.
  const std::vector<std::pair<std::string, std::string>> ranks = {{"SLURM_PROCID", "1"},
                                                                  {"PALS_RANKID", "2"},
                                                                  {"PMIX_RANK", "3"},
                                                                  {"PMI_RANK", "4"},
                                                                  {"OMPI_COMM_WORLD_RANK", "5"}};
  setenv("SLURM_PROCID", "1", 1);
  CHECK(launcher_rank() == 0);
  setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  for (const auto& [name, rank] : ranks) {
    setenv(name.c_str(), rank.c_str(), 1);
    CHECK(launcher_rank() == std::stoi(rank));
  }
  for (const auto& [name, rank] : ranks) unsetenv(name.c_str());
  unsetenv("SLURM_STEP_NUM_TASKS");
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE"}) {
    CHECK(launcher_local_size() == 0);
    setenv(name, "3", 1);
    CHECK(launcher_local_size() == 3);
    unsetenv(name);
  }
}

TEST_CASE("time goes forward and is written in UTC") {
  const double before = monotonic_s();
  CHECK(monotonic_s() >= before);
  const std::string stamp = utc_timestamp();
  CHECK(stamp.size() == 20);
  CHECK(stamp[10] == 'T');
  CHECK(stamp.back() == 'Z');
}
