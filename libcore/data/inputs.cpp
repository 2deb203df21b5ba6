#include "data/inputs.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::data {

namespace {

fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error) throw system_error(error.value(), "read", path.string());
  return status;
}

}  // namespace

bool is_jsonl(const std::string& name, InputFormat format) {
  if (format != InputFormat::automatic) return format == InputFormat::jsonl;
  return name.ends_with(".jsonl") || name.ends_with(".ndjson");
}

InputWalk::InputWalk(const std::vector<std::string>& inputs) {
  for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) pending_.push_back({*input, true});
}

std::optional<InputFile> InputWalk::next() {
  while (!pending_.empty()) {
    const Pending item = std::move(pending_.back());
    pending_.pop_back();
    if (item.is_named && item.path == "-") return InputFile{"-", true, std::nullopt};
    const fs::file_status status = status_of(item.path);
    if (fs::is_directory(status)) {
      push_entries(item.path);
      continue;
    }
    if (!fs::is_regular_file(status)) return InputFile{item.path, false, std::nullopt};
    return InputFile{item.path, false, File::open_read(item.path).size()};
  }
  return std::nullopt;
}

void InputWalk::push_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().native().starts_with('.')) continue;
    std::error_code ignored;  // a dangling link is neither
    const bool is_folder = entry->is_directory(ignored) && !entry->is_symlink(ignored);
    if (is_folder || entry->is_regular_file(ignored)) entries.push_back(entry->path());
  }
  if (error) throw system_error(error.value(), "list", folder.string());
  std::sort(entries.begin(), entries.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() > b.native(); });
  for (fs::path& path : entries) pending_.push_back({std::move(path), false});
}

}  // namespace dt::data
