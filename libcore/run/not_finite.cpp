#include "run/not_finite.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/io/json.hpp"
#include "base/io/open_at.hpp"
#include "base/system/host.hpp"

namespace dt::run {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "dt-not-finite";

/// Returns "the loss of step 21 was nan (2026-01-31T12:00:00Z)", or "" if the mark cannot be
/// parsed.
std::string describe(const fs::path& mark) {
  try {
    const JsonValue object = JsonValue::parse_object(read_file(mark), {mark.string()});
    return fmt::format(": {} was {} ({})", object.string("found"), object.string("loss"),
                       object.string("at"));
  } catch (const Error&) {  // the mark itself is warning enough
    return {};
  }
}

}  // namespace

fs::path not_finite_path(const fs::path& checkpoint) {
  fs::path path = without_trailing_slash(checkpoint);
  path += not_finite_suffix;
  return path;
}

void mark_not_finite(const fs::path& checkpoint, const NotFiniteLoss& loss) {
  const Json object = {{"format", format_name},
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
  return fmt::format("its weights gave a loss that is not finite{}; --resume {} takes it all the same",
                     describe(mark), checkpoint.string());
}

void clear_not_finite(const fs::path& checkpoint) {
  remove_own_file(not_finite_path(checkpoint));
}

}  // namespace dt::run
