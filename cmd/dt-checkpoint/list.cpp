#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/stat.h>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "checkpoint/reader.hpp"
#include "cmd/dt-checkpoint/options.hpp"
#include "run/run_directory.hpp"

namespace dt::checkpoint_tool {

namespace {

using checkpoint::CheckpointEntry;

struct Row {
  CheckpointEntry entry;
  std::uint64_t bytes = 0;
  std::string layout;   // "" if the manifest cannot be read
  std::string created;  // UTC; "" if the manifest cannot be read
  double age_s = 0;
  std::string problem;         // "" if the checkpoint is complete
  bool is_unreadable = false;  // the problem is the machine's, not the checkpoint's
  bool on_lineage = false;
};

std::uint64_t folder_bytes(const fs::path& folder) {
  std::uint64_t total = 0;
  std::error_code error;  // why_incomplete() reports unreadable files
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    const std::uint64_t bytes = entry->is_regular_file(gone) ? entry->file_size(gone) : 0;
    if (!gone) total += bytes;
  }
  return total;
}

/// Returns the seconds since the checkpoint was created according to its manifest, else since its
/// folder last changed.
double age_s(const std::string& created, const fs::path& path) {
  std::tm parts{};
  std::time_t then = 0;
  struct stat status {};
  if (!created.empty() && ::strptime(created.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) != nullptr) {
    then = ::timegm(&parts);
  } else if (::stat(path.c_str(), &status) == 0) {
    then = status.st_mtime;
  }
  return std::max(0.0, std::difftime(std::time(nullptr), then));
}

Row describe(const CheckpointEntry& entry) {
  Row row;
  row.entry = entry;
  row.bytes = folder_bytes(entry.path);
  try {
    const checkpoint::Manifest manifest = checkpoint::load_manifest(entry.path);
    row.layout = manifest.mesh.to_string();
    row.created = manifest.created;
  } catch (const Error&) {  // why_incomplete() reports it
  }
  try {
    row.problem = run::why_incomplete(entry.path);
  } catch (const Error& error) {  // the machine's fault; the other rows must still appear
    row.problem = error.message();
    row.is_unreadable = true;
  }
  row.age_s = age_s(row.created, entry.path);
  return row;
}

std::string short_age(double seconds) {
  if (seconds < 2 * 60) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} d", seconds / 86400);
}

void print_json(const Row& row, Console& console) {
  nlohmann::ordered_json object = {{"path", escape_invalid_utf8(row.entry.path.native())},
                                   {"step", row.entry.step},
                                   {"generation", row.entry.generation},
                                   {"bytes", row.bytes},
                                   {"layout", row.layout},
                                   {"created", row.created},
                                   {"age_s", row.age_s},
                                   {"complete", row.problem.empty()},
                                   {"lineage", row.on_lineage}};
  if (!row.problem.empty()) object["problem"] = escape_invalid_utf8(row.problem);
  console.write_text(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

std::string table(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells = {
      {"step", "generation", "size", "layout", "age", "complete", "lineage", "path"}};
  for (const Row& row : rows) {
    cells.push_back({std::to_string(row.entry.step), std::to_string(row.entry.generation),
                     format_bytes(row.bytes), row.layout.empty() ? "?" : row.layout, short_age(row.age_s),
                     row.problem.empty() ? "yes" : "no", row.on_lineage ? "yes" : "no",
                     row.entry.path.string()});
  }
  return format_table(cells);
}

}  // namespace

int list(const std::string& run, Console& console) {
  const run::RunDirectory directory(run);
  directory.require();
  std::set<fs::path> on_lineage;
  for (const CheckpointEntry& entry : directory.lineage()) on_lineage.insert(entry.path);
  std::vector<Row> rows;
  for (const CheckpointEntry& entry : directory.checkpoints()) {
    Row row = describe(entry);
    if (!row.problem.empty() && checkpoint::is_removed(entry.path))
      continue;  // a running job has just pruned it
    rows.push_back(std::move(row));
    rows.back().on_lineage = on_lineage.contains(entry.path);
    if (!rows.back().problem.empty()) console.info("{}: {}", entry.path.string(), rows.back().problem);
  }
  if (!console.json()) {
    console.write_text(table(rows));
  } else {
    for (const Row& row : rows) print_json(row, console);
  }
  const bool all_readable = std::ranges::none_of(rows, &Row::is_unreadable);
  return all_readable ? 0 : static_cast<int>(ErrorKind::environment);
}

int latest(const std::string& run, Console& console) {
  const run::RunDirectory directory(run);
  directory.require();
  std::vector<checkpoint::Problem> skipped;
  const auto found = directory.newest_complete(&skipped);
  for (const checkpoint::Problem& problem : skipped)
    console.warn("skipping {}: {}", problem.where, problem.what);
  if (!found) {
    const bool has_others = !directory.checkpoints().empty();
    throw Error(ErrorKind::input, fmt::format("{} has no complete checkpoint to resume from", run),
                has_others
                    ? fmt::format("run 'dt-checkpoint list {}' to see what is wrong with the others", run)
                    : "");
  }
  if (console.json()) {
    const nlohmann::ordered_json object = {{"path", escape_invalid_utf8(found->path.native())},
                                           {"step", found->step},
                                           {"generation", found->generation}};
    console.write_text(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } else {
    console.write_bytes(found->path.string() + "\n");
  }
  return 0;
}

}  // namespace dt::checkpoint_tool
