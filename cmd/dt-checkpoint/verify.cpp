#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/reader.hpp"
#include "cmd/dt-checkpoint/options.hpp"

namespace dt::checkpoint_tool {

using json = nlohmann::ordered_json;

namespace {

using checkpoint::Problem;

/// Rejects a path that was never a checkpoint. A damaged or unreadable checkpoint passes, since it
/// is a finding.
void require_checkpoint(const std::string& path) {
  if (!path_exists(path)) throw input_error("{} does not exist", path);
  if (!folder_exists(path)) throw input_error("{} is not a folder; expected a checkpoint", path);
  const bool has_manifest = path_exists(fs::path(path) / checkpoint::manifest_name);
  if (!has_manifest && folder_exists(fs::path(path) / "checkpoints")) {
    throw Error(ErrorKind::input, fmt::format("{} is a run directory, not a checkpoint", path),
                fmt::format("run dt-checkpoint verify {}/checkpoints/*", path));
  }
}

/// The findings of one task about a checkpoint.
struct VerifyResult {
  std::string path;
  std::vector<Problem> problems;
  std::vector<std::string> foreign;  // files that the manifest does not list
  int num_files = 0;                 // including the manifest
  int num_mine = 0;
};

VerifyResult verify_one(const std::string& path, Task task, int& turn, Console& console) {
  VerifyResult finding{path, {}, {}, 0, 0};
  // The turn runs over all checkpoints of the command, so that many small ones are also divided
  // among tasks.
  const auto take = [&] {
    ++finding.num_files;
    if (turn++ % task.count != task.number) return false;
    ++finding.num_mine;
    return true;
  };
  const std::uint64_t bytes = manifest_bytes(path) / static_cast<std::uint64_t>(task.count);
  Progress progress = console.progress("verifying " + path, bytes, "B");
  finding.problems = checkpoint::verify_checkpoint(
      path, [&](std::uint64_t count) { progress.advance(count); }, take);
  if (!finding.problems.empty() && checkpoint::is_removed(path)) throw checkpoint::removed_error(path);
  try {
    if (task.number == 0) finding.foreign = checkpoint::unlisted_files(path, checkpoint::load_manifest(path));
  } catch (const Error&) {  // the error is among the problems
  }
  return finding;
}

void print(const VerifyResult& f, Task task, Console& console) {
  if (console.json()) {
    json object = {{"path", escape_invalid_utf8(f.path)},
                   {"ok", f.problems.empty()},
                   {"problems", problems_json(f.problems)}};
    for (const std::string& name : f.foreign) object["foreign"].push_back(escape_invalid_utf8(name));
    if (task.count > 1) object.update({{"task", task.number}, {"tasks", task.count}, {"files", f.num_mine}});
    console.write_text(object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
    return;
  }
  const std::string share = task.count == 1
                                ? ""
                                : fmt::format(" (task {} of {}: {} of {})", task.number, task.count,
                                              f.num_mine, pluralize(f.num_files, "file"));
  if (f.problems.empty()) console.print("{}: ok{}\n", printable_line(f.path), share);
  for (const Problem& p : f.problems)
    console.print("{}: {}: {}\n", printable_line(f.path), printable_line(p.where), printable_line(p.what));
  for (const std::string& name : f.foreign)
    console.info("{}: {} is not listed in the manifest", f.path, name);
}

}  // namespace

std::uint64_t manifest_bytes(const std::string& checkpoint) {
  std::uint64_t total = 0;
  try {
    const checkpoint::Manifest manifest = checkpoint::load_manifest(checkpoint);
    if (manifest.index) total += manifest.index->bytes;
    for (const checkpoint::StoredFile& file : manifest.files) total += file.bytes;
  } catch (const Error&) {  // readers of the content report it
  }
  return total;
}

json problems_json(std::span<const Problem> problems) {
  json array = json::array();
  for (const Problem& problem : problems) {
    json& object = array.emplace_back(
        json{{"where", escape_invalid_utf8(problem.where)}, {"what", escape_invalid_utf8(problem.what)}});
    if (problem.is_unreadable) object["unreadable"] = true;
  }
  return array;
}

int verify(const std::vector<std::string>& checkpoints, Task task, Console& console) {
  for (const std::string& path : checkpoints) {
    try {
      require_checkpoint(path);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::input) throw;
    }
  }
  std::size_t damaged = 0, unreadable = 0, removed = 0;
  int turn = 0;
  for (const std::string& path : checkpoints) {
    VerifyResult finding;
    try {
      finding = verify_one(path, task, turn, console);
    } catch (const Error& error) {  // the other checkpoints are still reported
      if (!checkpoint::is_removed(path)) throw;
      console.error("{}", error.message());
      ++removed;
      continue;
    }
    print(finding, task, console);
    const auto num_unreadable = std::ranges::count(finding.problems, true, &Problem::is_unreadable);
    if (num_unreadable < std::ssize(finding.problems)) ++damaged;
    if (num_unreadable > 0) ++unreadable;
  }
  if (damaged > 0)
    console.info("{} of {} {} damaged", damaged, pluralize(checkpoints.size(), "checkpoint"),
                 plural_form(damaged, "is", "are"));
  if (unreadable > 0)
    console.info("{} of {} could not be read completely; the unread parts are not verified", unreadable,
                 pluralize(checkpoints.size(), "checkpoint"));
  if (damaged > 0) return static_cast<int>(ErrorKind::verification);
  if (removed > 0) return static_cast<int>(ErrorKind::input);
  return unreadable > 0 ? static_cast<int>(ErrorKind::environment) : 0;
}

}  // namespace dt::checkpoint_tool
