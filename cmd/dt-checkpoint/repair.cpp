#include "checkpoint/repair.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "cmd/dt-checkpoint/options.hpp"
#include "run/exclusion_records.hpp"

namespace dt::checkpoint_tool {

using json = nlohmann::ordered_json;

namespace {

using checkpoint::Problem;

void print(const std::string& path, const checkpoint::Repair& repair, Console& console) {
  if (console.json()) {
    const json object = {{"path", escape_invalid_utf8(path)},
                         {"ok", repair.problems.empty()},
                         {"repaired", problems_json(repair.repaired)},
                         {"problems", problems_json(repair.problems)}};
    console.write_text(object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
    return;
  }
  for (const Problem& p : repair.repaired)
    console.print("{}: {}: repaired: {}\n", printable_line(path), printable_line(p.where),
                  printable_line(p.what));
  for (const Problem& p : repair.problems)
    console.print("{}: {}: {}\n", printable_line(path), printable_line(p.where), printable_line(p.what));
  if (repair.problems.empty()) console.print("{}: ok\n", printable_line(path));
}

}  // namespace

int repair(const Options& options, const StopSignals& signals, Console& console) {
  const std::string& path = options.arguments.at(1);
  const std::string& replica = options.from.value();
  for (const std::string& folder : {path, replica}) {
    if (!folder_exists(folder)) throw input_error("{} is not a folder; expected a checkpoint", folder);
  }
  checkpoint::Repair result;
  {
    const std::uint64_t bytes = std::max(manifest_bytes(path), manifest_bytes(replica));
    Progress progress = console.progress("repairing " + path, 2 * bytes, "B");
    result = checkpoint::repair_checkpoint(path, replica, [&](std::uint64_t count) {
      signals.check();
      progress.advance(count);
    });
  }
  print(path, result, console);
  if (result.problems.empty()) {
    run::clear_failed_loads(path);  // resumes consider it again
    return 0;
  }
  if (std::ranges::all_of(result.problems, &Problem::is_unreadable)) {
    console.info("{} could not be read completely; the unread part was not checked", path);
    return static_cast<int>(ErrorKind::environment);
  }
  console.info("{} still has {}; {} has no intact copy of {}", path,
               pluralize(result.problems.size(), "damaged part"), replica,
               plural_form(result.problems.size(), "it", "them"));
  return static_cast<int>(ErrorKind::verification);
}

}  // namespace dt::checkpoint_tool
