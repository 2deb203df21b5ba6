#include "run/exclusion_records.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/files.hpp"
#include "base/io/json.hpp"
#include "base/io/open_at.hpp"
#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"

namespace dt::run {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* failed_load_format = "dt-failed-load";
constexpr const char* not_finite_format = "dt-not-finite";

struct FailedLoad {
  std::string at;  // UTC
  std::string reason;
};

std::string to_line(const std::string& reason) {
  const Json object = {{"format", failed_load_format}, {"version", 1},
                       {"at", utc_timestamp()},        {"host", host_name()},
                       {"process", ::getpid()},        {"reason", escape_invalid_utf8(reason)}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Returns the record's entries. Lines that are torn or of another version do not count.
std::vector<FailedLoad> failed_loads(const fs::path& checkpoint) {
  const fs::path path = failed_loads_path(checkpoint);
  if (!path_exists(path)) return {};
  std::vector<FailedLoad> loads;
  for (const std::string& line : split(read_file(path), '\n')) {
    try {
      const JsonValue object = JsonValue::parse_object(line, {path.string()});
      if (object.string("format") == failed_load_format && object.integer("version") == 1)
        loads.push_back({object.string("at"), unescape_bytes(object.string("reason"))});
    } catch (const Error&) {
      continue;
    }
  }
  return loads;
}

/// Returns "the loss of step 21 was nan (2026-01-31T12:00:00Z)", or "" if the mark cannot be
/// parsed.
std::string describe_mark(const fs::path& mark) {
  try {
    const JsonValue object = JsonValue::parse_object(read_file(mark), {mark.string()});
    return fmt::format(": {} was {} ({})", object.string("found"), object.string("loss"),
                       object.string("at"));
  } catch (const Error&) {  // the mark itself is warning enough
    return {};
  }
}

}  // namespace

fs::path failed_loads_path(const fs::path& checkpoint) {
  fs::path path = checkpoint.filename().empty() ? checkpoint.parent_path() : checkpoint;
  path += failed_loads_suffix;
  return path;
}

void record_failed_load(const fs::path& checkpoint, const std::string& reason) {
  if (!folder_exists(checkpoint) || failed_loads(checkpoint).size() >= max_failed_loads) return;
  const fs::path path = failed_loads_path(checkpoint);
  File file = File::open_append(path);
  file.write(to_line(reason));  // a single write, which O_APPEND keeps whole
  file.sync();
  file.close();
  sync_directory(path.parent_path());
}

std::string why_set_aside(const fs::path& checkpoint) {
  const std::vector<FailedLoad> loads = failed_loads(checkpoint);
  if (loads.size() < max_failed_loads) return {};
  return fmt::format(
      "excluded: {} starts found it damaged, the last at {}: {}; after repairing it, use --resume {}",
      loads.size(), loads.back().at, loads.back().reason, checkpoint.string());
}

void clear_failed_loads(const fs::path& checkpoint) {
  remove_own_file(failed_loads_path(checkpoint));
}

fs::path not_finite_path(const fs::path& checkpoint) {
  fs::path path = without_trailing_slash(checkpoint);
  path += not_finite_suffix;
  return path;
}

void mark_not_finite(const fs::path& checkpoint, const NotFiniteLoss& loss) {
  const Json object = {{"format", not_finite_format},
                       {"version", 1},
                       {"at", utc_timestamp()},
                       {"host", host_name()},
                       {"process", ::getpid()},
                       {"found", loss.found},
                       {"loss", fmt::format("{}", loss.loss)}};
  write_file_atomically(not_finite_path(checkpoint),
                        object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string why_not_finite(const fs::path& checkpoint) {
  const fs::path mark = not_finite_path(checkpoint);
  if (!path_exists(mark)) return {};
  return fmt::format("its weights gave a loss that is not finite{}; use --resume {} to resume from it anyway",
                     describe_mark(mark), checkpoint.string());
}

void clear_not_finite(const fs::path& checkpoint) {
  remove_own_file(not_finite_path(checkpoint));
}

}  // namespace dt::run
