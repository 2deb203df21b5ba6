#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/reader.hpp"
#include "cmd/dt-checkpoint/run.hpp"

namespace dt::checkpoint_tool {

namespace {

using checkpoint::Problem;
using json = nlohmann::ordered_json;

/// What was never a checkpoint is bad input; what was one and is damaged is a finding.
void require_checkpoint(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) throw input_error("{} does not exist", path);
  if (!fs::is_directory(path, error)) throw input_error("{} is not a folder; a checkpoint is one", path);
  const bool has_manifest = fs::exists(fs::path(path) / checkpoint::manifest_name, error);
  if (!has_manifest && fs::is_directory(fs::path(path) / "checkpoints", error)) {
    throw Error(ErrorKind::input, fmt::format("{} is a run directory, not a checkpoint", path),
                fmt::format("try: dt-checkpoint verify {}/checkpoints/*", path));
  }
}

/// 0 where the manifest cannot be read.
std::uint64_t total_bytes(const std::string& path) {
  std::uint64_t total = 0;
  try {
    for (const checkpoint::StoredFile& file : checkpoint::load_manifest(path).files) total += file.bytes;
  } catch (const Error&) {  // verify_checkpoint reports it
  }
  return total;
}

void print(const std::string& path, const std::vector<Problem>& problems, Console& console) {
  if (console.json()) {
    json list = json::array();
    for (const Problem& p : problems) list.push_back({{"where", p.where}, {"what", p.what}});
    const json object = {{"path", path}, {"ok", problems.empty()}, {"problems", list}};
    console.out(object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
    return;
  }
  if (problems.empty()) console.print("{}: ok\n", path);
  for (const Problem& p : problems) console.print("{}: {}: {}\n", path, p.where, p.what);
}

}  // namespace

int verify(const std::vector<std::string>& checkpoints, Console& console) {
  for (const std::string& path : checkpoints) require_checkpoint(path);
  std::size_t damaged = 0;
  for (const std::string& path : checkpoints) {
    std::vector<Problem> problems;
    {
      Progress progress = console.progress("verifying " + path, total_bytes(path), "B");
      problems = checkpoint::verify_checkpoint(path, [&](std::uint64_t bytes) { progress.advance(bytes); });
    }
    print(path, problems, console);
    if (!problems.empty()) ++damaged;
  }
  if (damaged == 0) return 0;
  console.info("{} of {} checkpoints are damaged", damaged, checkpoints.size());
  return static_cast<int>(ErrorKind::verification);
}

}  // namespace dt::checkpoint_tool
