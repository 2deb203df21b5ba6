#pragma once
// The files that a user names as input, one by one. Only one folder's names are in memory at a
// time, however many files there are.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/io/files.hpp"
#include "base/io/permissions.hpp"
#include "base/text/enum_names.hpp"

namespace dt::data {

/// The format of inputs. automatic: token ids of NumPy and llm.c by their first bytes; JSON lines
/// by name (.jsonl, .ndjson) or first line (see sniff_json.hpp); anything else is text. bin:
/// headerless ids or llm.c's. megatron: X.bin with X.idx beside it.
enum class InputFormat { automatic, text, jsonl, npy, bin, megatron };
constexpr auto enum_names(InputFormat) {
  using enum InputFormat;
  return std::to_array<EnumName<InputFormat>>({{"auto", automatic},
                                               {"text", text},
                                               {"jsonl", jsonl},
                                               {"npy", npy},
                                               {"bin", bin},
                                               {"megatron", megatron}});
}

/// Treatment of bytes that are not UTF-8: an error, replacement by U+FFFD, or removal.
enum class InvalidUtf8 { fail, replace, skip };
constexpr auto enum_names(InvalidUtf8) {
  using enum InvalidUtf8;
  return std::to_array<EnumName<InvalidUtf8>>({{"fail", fail}, {"replace", replace}, {"skip", skip}});
}

struct InputFile {
  fs::path path;  // "-" is standard input
  bool is_stdin = false;
  std::optional<std::uint64_t> bytes;  // unknown for pipes
  std::uint64_t begin = 0;             // start of the requested part, in bytes
  std::optional<std::uint64_t> end = {};
  std::uint64_t range = 0;  // range among all inputs, see InputRanges
  std::string name() const { return is_stdin ? "standard input" : path.string(); }
};

/// Returns the inputs one after another, then nullopt.
using NextInput = std::function<std::optional<InputFile>()>;

/// A list of file names, which contain no NUL. Millions of names take little more memory than their
/// letters.
class NameList {
 public:
  void add(std::string_view name);
  /// Sorts the names in byte order, last to first.
  void sort_descending();
  bool empty() const { return begins_.empty(); }
  /// Removes and returns the last name.
  std::string take_last();

 private:
  std::string letters_;                // all names, each ended by a NUL
  std::vector<std::uint64_t> begins_;  // offsets in letters_ of the remaining names
};

/// Walks the files that names stand for. A name that is not a file's may be a pattern of glob(3).
/// It stands for its matches in byte order; a pattern without matches is an error. Walks folders
/// recursively in the byte order of their entries' names. Skips hidden entries in them, and entries
/// that are not regular files. Follows links. Skips a folder that the walk of one name meets again,
/// through a link to it or to an ancestor.
/// Errors: input, naming what is missing or cannot be listed.
class InputWalk {
 public:
  explicit InputWalk(const std::vector<std::string>& inputs);
  std::optional<InputFile> next();
  /// Returns the users that may enter all folders that the walk has entered so far.
  const ReadAccess& readers() const { return readers_; }

 private:
  struct Pending {
    fs::path folder;  // folder of the names; empty if they are paths
    NameList names;   // next one is last
    bool is_named;    // named by the user, not found in a folder
  };
  void push_entries(const fs::path& folder);
  void push_matches(const fs::path& pattern);
  std::vector<Pending> pending_;                           // present one is last
  std::set<std::pair<std::uint64_t, std::uint64_t>> met_;  // folders of the present name, by device and inode
  ReadAccess readers_;
};

/// Appends the names in a list: one per line, which ends in \n or \r\n. Skips empty lines.
/// Errors: input, naming `origin` and the line, if a name contains a zero byte.
void append_names(std::string_view list, const std::string& origin, std::vector<std::string>& names);

/// Checks that for each of Megatron's indexes named, its .bin file is named, too.
/// Errors: input if one is not.
void check_indexes(const std::vector<std::string>& names);

/// Returns a walk through all inputs.
NextInput walk_of(const std::vector<std::string>& inputs);

}  // namespace dt::data
