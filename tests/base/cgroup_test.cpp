#include "base/cgroup.hpp"

#include <catch2/catch.hpp>

#include "base/host.hpp"
#include "base/test_folder.hpp"

using namespace dt;

namespace {

/// A system of files alone.
class System {
 public:
  /// What the process's /proc says.
  System(const std::string& mounts, const std::string& cgroups) {
    write("proc/self/mountinfo", mounts);
    write("proc/self/cgroup", cgroups);
  }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((folder_ / file).parent_path());
    dt_test::put(folder_ / file, text);
  }
  std::optional<std::uint64_t> limit() const { return cgroup_memory_bytes(folder_.path()); }

 private:
  dt_test::Folder folder_;
};

constexpr const char* v2_mount =
    "22 1 0:20 / /proc rw - proc proc rw\n30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 "
    "rw,nsdelegate\n";
constexpr const char* v1_mounts =
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

}  // namespace

TEST_CASE("of nested cgroups of version 2 the least limit counts") {
  const System system(v2_mount, "0::/system.slice/slurmstepd.scope/job_7/step_0/user\n");
  const std::string slice = "sys/fs/cgroup/system.slice/";
  CHECK_FALSE(system.limit().has_value());
  system.write(slice + "slurmstepd.scope/job_7/step_0/user/memory.max", "max\n");
  CHECK_FALSE(system.limit().has_value());
  system.write(slice + "slurmstepd.scope/job_7/step_0/memory.max", "5000000\n");
  system.write(slice + "slurmstepd.scope/job_7/memory.max", "4000000\n");
  system.write(slice + "memory.max", "6000000\n");
  system.write(slice + "slurmstepd.scope/job_8/memory.max", "1\n");  // another's
  CHECK(system.limit() == 4000000);
}

TEST_CASE("version 1 is asked where it accounts for memory") {
  const System system(v1_mounts, "9:name=systemd:/x\n4:memory:/slurm/uid_0/job_3\n1:cpu,cpuacct:/y\n0::/\n");
  const std::string memory = "sys/fs/cgroup/memory/";
  system.write(memory + "memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(system.limit() == 9223372036854771712U);
  system.write(memory + "slurm/uid_0/job_3/memory.limit_in_bytes", "2147483648\n");
  CHECK(system.limit() == 2147483648U);
}

TEST_CASE("a container that is shown its own cgroup alone finds its limit there") {
  const auto [shown, own] = GENERATE(table<std::string, std::string>(
      {{"/docker/0123", "/docker/0123"}, {"/", "/"}, {"/", "/../../other"}, {"/..", "/"}}));
  CAPTURE(shown, own);
  const System system("35 31 0:32 " + shown + " /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::" + own + "\n");
  system.write("sys/fs/cgroup/memory.max", "3000000\n");
  system.write("memory.max", "1\n");  // of nobody
  CHECK(system.limit() == 3000000);
}

TEST_CASE("where a system tells nothing of cgroups, or nothing that can be read, nothing bounds a process") {
  CHECK_FALSE(cgroup_memory_bytes("/nowhere").has_value());
  CHECK_FALSE(System("", "").limit().has_value());
  CHECK_FALSE(System("1 2\n - cgroup2\n", "0:\n::\n").limit().has_value());
  const System system(v2_mount, "0::/a\n");
  system.write("sys/fs/cgroup/a/memory.max", "12KiB\n");
  system.write("sys/fs/cgroup/memory.max", "99999999999999999999999999\n");
  CHECK_FALSE(system.limit().has_value());
}

TEST_CASE("what a process may have is no more than its cgroups grant") {
  CHECK(usable_memory_bytes() > 0);
  CHECK(usable_memory_bytes() <= cgroup_memory_bytes().value_or(UINT64_MAX));
}
