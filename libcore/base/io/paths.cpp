#include "base/io/paths.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "base/system/host.hpp"

namespace dt::checkpoint {

namespace {

/// Opens a folder so that its cached entries are renewed. A network file system caches for a while
/// that a name is missing. On opening a folder it asks the server ("close to open consistency"),
/// and drops cached entries if the folder has changed.
void refresh(const fs::path& folder) {
  std::error_code ignored;
  const fs::directory_iterator opened(folder.empty() ? fs::path(".") : folder, ignored);
}

}  // namespace

void wait_until_visible(const fs::path& path, double timeout_s) {
  constexpr double longest_pause_s = 0.25;
  const double end_s = monotonic_s() + timeout_s;
  std::error_code error;
  for (double pause_s = 0.01; !fs::exists(path, error); pause_s = std::min(2 * pause_s, longest_pause_s)) {
    if (monotonic_s() >= end_s) {
      throw Error(ErrorKind::environment,
                  fmt::format("host {} does not see {} after {} s{}", host_name(), path.string(), timeout_s,
                              error ? ": " + error.message() : ""),
                  "all hosts must see the run directory under the same path, on a shared file system");
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_s));
    refresh(path.parent_path());
  }
}

}  // namespace dt::checkpoint
