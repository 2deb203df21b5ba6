#include "data/input/inputs.hpp"

#include <algorithm>
#include <cerrno>
#include <fnmatch.h>
#include <functional>
#include <memory>
#include <sys/stat.h>
#include <utility>

#include "base/error.hpp"

namespace dt::data {

void NameList::add(std::string_view name) {
  begins_.push_back(letters_.size());
  letters_ += name;
  letters_ += '\0';
}

void NameList::sort_descending() {
  const auto name = [&](std::uint64_t begin) { return std::string_view(letters_.data() + begin); };
  std::ranges::sort(begins_, std::greater(), name);
}

std::string NameList::take_last() {
  std::string name = letters_.data() + begins_.back();
  begins_.pop_back();
  return name;
}

namespace {

fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error) throw system_error(error.value(), "read", path.string());
  return status;
}

/// Returns whether a name is a pattern. A file with exactly that name takes precedence.
bool is_pattern(const fs::path& name) {
  return name.native().find_first_of("*?[") != std::string::npos && !path_exists(name);
}

/// Calls `visit` with the names in a folder that match a pattern. Leaves out . and .., so that `.*`
/// does not leave the folder. A missing folder has no names; one that cannot be read is an error.
template <class Visit>
void visit_matches(const std::string& folder, const std::string& pattern, const Visit& visit) {
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0) visit(name);
  }
  const bool is_there = error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory;
  if (error && is_there) throw system_error(error.value(), "list", folder);
}

/// Returns the paths that match a pattern, the first of them last. glob(3) is unsuitable: its stack
/// grows with the square of a pattern's length.
NameList matches_of(const fs::path& pattern) {
  std::vector<std::string> folders = {pattern.root_path()};  // each ends with a slash, or is empty
  NameList paths;
  const fs::path relative = pattern.relative_path();
  for (auto part = relative.begin(); part != relative.end(); ++part) {
    const bool is_last = std::next(part) == relative.end();
    std::vector<std::string> next;
    const auto add = [&](const std::string& path) {
      if (is_last) {
        paths.add(path);
      } else {
        next.push_back(path + "/");
      }
    };
    for (const std::string& folder : folders) {
      const std::string path = folder + part->native();
      if (part->native().find_first_of("*?[\\") != std::string::npos) {
        visit_matches(folder, *part, [&](const std::string& name) { add(folder + name); });
      } else if (!is_last || (part->empty() ? folder_exists(path) : path_exists(path))) {
        add(path);
      }
    }
    folders = std::move(next);
  }
  if (paths.empty()) {
    throw Error(ErrorKind::input, fmt::format("nothing matches '{}'", pattern.string()),
                "* matches any part of a name; a folder stands for all files in it");
  }
  paths.sort_descending();
  return paths;
}

}  // namespace

InputWalk::InputWalk(const std::vector<std::string>& inputs) {
  NameList names;
  for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) names.add(*input);
  pending_.push_back({{}, std::move(names), true});
}

std::optional<InputFile> InputWalk::next() {
  while (!pending_.empty()) {
    Pending& present = pending_.back();
    if (present.names.empty()) {
      pending_.pop_back();
      continue;
    }
    const bool is_named = present.is_named;
    if (is_named) met_.clear();
    const fs::path path = present.folder / present.names.take_last();
    if (is_named && path == "-") return InputFile{"-", true, std::nullopt};
    if (is_named && is_pattern(path)) {
      push_matches(path);
      continue;
    }
    const fs::file_status status = status_of(path);
    if (fs::is_directory(status)) {
      push_entries(path);
      continue;
    }
    if (!fs::is_regular_file(status)) return InputFile{path, false, std::nullopt};
    return InputFile{path, false, File::open_read(path).size()};
  }
  return std::nullopt;
}

void InputWalk::push_matches(const fs::path& pattern) {
  pending_.push_back({{}, matches_of(pattern), false});
}

void InputWalk::push_entries(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) throw system_error(errno, "list", folder.string());
  if (!met_.emplace(status.st_dev, status.st_ino).second) return;
  readers_ &= ReadAccess::of(folder, status);
  NameList names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    if (name.starts_with('.')) continue;
    std::error_code ignored;  // a dangling link is neither
    if (entry->is_directory(ignored) || entry->is_regular_file(ignored)) names.add(name);
  }
  if (error) throw system_error(error.value(), "list", folder.string());
  names.sort_descending();
  pending_.push_back({folder, std::move(names), false});
}

void append_names(std::string_view list, const std::string& origin, std::vector<std::string>& names) {
  std::uint64_t line = 1;
  for (std::size_t begin = 0, end = 0; begin < list.size(); begin = end + 1, ++line) {
    end = std::min(list.find('\n', begin), list.size());
    std::string_view name = list.substr(begin, end - begin);
    if (name.ends_with('\r')) name.remove_suffix(1);
    // The system would take the part before the zero byte as the name, and the rest would be lost.
    if (name.find('\0') != name.npos)
      throw Error(ErrorKind::input, fmt::format("{}:{}: a file name contains a zero byte", origin, line),
                  "expected one name per line, in UTF-8 or ASCII (use find without -print0)");
    if (!name.empty()) names.emplace_back(name);
  }
}

void check_indexes(const std::vector<std::string>& names) {
  const std::set<std::string> all(names.begin(), names.end());
  for (const std::string& name : names) {
    if (!name.ends_with(".idx")) continue;
    const std::string ids = name.substr(0, name.size() - 4) + ".bin";
    if (all.contains(ids)) continue;
    throw Error(ErrorKind::input, name + " is a Megatron index, which dt reads together with its .bin file",
                fmt::format("give {} instead", ids));
  }
}

NextInput walk_of(const std::vector<std::string>& inputs) {
  return [walk = std::make_shared<InputWalk>(inputs)] { return walk->next(); };
}

}  // namespace dt::data
