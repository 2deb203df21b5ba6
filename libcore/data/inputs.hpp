#pragma once
// What a user names as input, as a sequence of files. One folder's names are held at a time, however many
// files there are.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/audience.hpp"
#include "base/files.hpp"
#include "data/name_list.hpp"

namespace dt::data {

/// automatic: NumPy's and llm.c's token ids by their first bytes; JSON lines by name (.jsonl, .ndjson) or by
/// their first line (see sniff_json.hpp); everything else is text. bin: ids alone or llm.c's; megatron: X.bin
/// with X.idx beside it.
enum class InputFormat { automatic, text, jsonl, npy, bin, megatron };

/// What becomes of bytes that are not UTF-8: an error, U+FFFD, or nothing.
enum class InvalidUtf8 { fail, replace, skip };

struct InputFile {
  fs::path path;  // "-" is standard input
  bool is_stdin = false;
  std::optional<std::uint64_t> bytes;  // unknown for pipes
  std::uint64_t begin = 0;             // of what is meant of it, in bytes
  std::optional<std::uint64_t> end = {};
  std::uint64_t range = 0;  // of all inputs, see InputRanges
  std::string name() const { return is_stdin ? "standard input" : path.string(); }
};

/// What to read, file after file.
using NextInput = std::function<std::optional<InputFile>()>;

/// A name that is no file's may be a pattern of glob(3), which stands for what it matches in byte order; what
/// matches nothing is an error. Folders are walked recursively in the byte order of their entries' names; in
/// them hidden entries and what is no regular file are passed over. Links are followed. A folder that is met
/// again within what one name stands for, by a link to it or above it, is passed over. Errors: input, naming
/// what is missing or cannot be listed.
class InputWalk {
 public:
  explicit InputWalk(const std::vector<std::string>& inputs);
  std::optional<InputFile> next();
  /// Returns who may enter all folders that the walk has entered so far.
  const Audience& readers() const { return readers_; }

 private:
  struct Pending {
    fs::path folder;  // of the names; empty where they are paths
    NameList names;   // the next one is last
    bool is_named;    // by the user, not found in a folder
  };
  void push_entries(const fs::path& folder);
  void push_matches(const fs::path& pattern);
  std::vector<Pending> pending_;                           // the present one is last
  std::set<std::pair<std::uint64_t, std::uint64_t>> met_;  // folders of the present name: device and inode
  Audience readers_;
};

/// Appends the names in a list: one a line, which ends in \n or \r\n; empty lines are passed over. Errors:
/// input, naming `origin` and the line, where a name holds a zero byte.
void append_names(std::string_view list, const std::string& origin, std::vector<std::string>& names);

/// Errors: input, where an index of Megatron's is named and the .bin that it is of is not.
void check_indexes(const std::vector<std::string>& names);

/// A walk through all of them.
NextInput walk_of(const std::vector<std::string>& inputs);

}  // namespace dt::data
