#include <catch2/catch.hpp>
#include <fmt/core.h>
#include <tuple>

#include "base/system/host.hpp"
#include "base/system/limits.hpp"
#include "base/test_folder.hpp"

using namespace dt;

namespace {

/// A system that consists of files alone.
class System {
 public:
  /// Creates the system with the process's files of /proc.
  System(const std::string& mounts, const std::string& cgroups) {
    write("proc/self/mountinfo", mounts);
    write("proc/self/cgroup", cgroups);
  }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((folder_ / file).parent_path());
    dt_test::put(folder_ / file, text);
  }
  const std::filesystem::path& root() const { return folder_.path(); }
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
  system.write(slice + "slurmstepd.scope/job_8/memory.max", "1\n");  // another job's
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
  system.write("memory.max", "1\n");  // not a control group
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

TEST_CASE("the tightest quota of processor time counts, with its cgroup") {
  const System v2(v2_mount, "0::/a/b\n");
  CHECK_FALSE(cgroup_cpu_quota(v2.root()).has_value());
  v2.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  CHECK_FALSE(cgroup_cpu_quota(v2.root()).has_value());
  v2.write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  const auto quota = cgroup_cpu_quota(v2.root());
  REQUIRE(quota.has_value());
  CHECK(quota->cpus == 1.5);
  CHECK(quota->group.ends_with("sys/fs/cgroup/a"));
  const System v1(v1_mounts, "1:cpu,cpuacct:/y\n");
  v1.write("sys/fs/cgroup/cpu,cpuacct/y/cpu.cfs_quota_us", "-1\n");
  v1.write("sys/fs/cgroup/cpu,cpuacct/y/cpu.cfs_period_us", "100000\n");
  CHECK_FALSE(cgroup_cpu_quota(v1.root()).has_value());
  v1.write("sys/fs/cgroup/cpu,cpuacct/y/cpu.cfs_quota_us", "300000\n");
  CHECK(cgroup_cpu_quota(v1.root())->cpus == 3);
}

TEST_CASE("of the limits on processes that one counts that leaves the fewest") {
  const System system(v2_mount, "0::/a/b\n");
  CHECK_FALSE(cgroup_pids(system.root()).has_value());
  for (const auto& [folder, max, current] :
       {std::tuple("a", "100\n", "95\n"), {"a/b", "20\n", "3\n"}, {"", "max\n", "7\n"}}) {
    system.write(fmt::format("sys/fs/cgroup/{}/pids.max", folder), max);
    system.write(fmt::format("sys/fs/cgroup/{}/pids.current", folder), current);
  }
  CHECK(cgroup_pids(system.root())->max == 100);
  CHECK(cgroup_pids(system.root())->current == 95);
}
