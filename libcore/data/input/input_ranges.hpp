#pragma once
// Divides inputs into ranges, which are the same for every reader. A range is the unit of a task's
// work, and of what an interrupted run leaves.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/io/files.hpp"
#include "base/io/permissions.hpp"
#include "data/input/chunk_reader.hpp"
#include "data/input/inputs.hpp"

namespace dt::data {

struct RangeStart {
  std::uint64_t file;  // number of the file among all files
  std::uint64_t byte;  // offset within it
  bool operator==(const RangeStart&) const = default;
};

/// A division of the inputs. A range is several consecutive files, or a part of a large file.
/// InputRanges divides only files of JSON lines, and of text with a document separator, between
/// documents. It does not divide compressed files and files of token ids. A pipe is a range by
/// itself. Ranges have at least `min_bytes` and a 512th of all bytes, except those before a pipe
/// and the last.
/// Errors: as InputWalk.
class InputRanges {
 public:
  /// `idle` is called for each input, of which there may be millions; its exceptions propagate.
  InputRanges(
      std::vector<std::string> inputs, const ReadOptions& options, std::uint64_t min_bytes,
      const std::function<void()>& idle = [] {});

  std::uint64_t count() const { return starts_.size(); }
  /// Returns the size of all inputs, or 0 if there is a pipe.
  std::uint64_t total_bytes() const { return is_known_ ? total_bytes_ : 0; }
  bool has_pipe() const { return !is_known_; }
  /// Returns a digest of the files' names, sizes and times of change.
  std::uint64_t digest() const { return digest_; }
  /// Returns the users that may read all files and enter the named folders.
  const ReadAccess& readers() const { return readers_; }

  const std::vector<RangeStart>& starts() const { return starts_; }
  const std::vector<std::string>& inputs() const { return inputs_; }

 private:
  void measure(InputFormat format, const std::function<void()>& idle);
  void cut(std::uint64_t range_bytes, const ReadOptions& options, const std::function<void()>& idle);

  std::vector<std::string> inputs_;
  std::vector<RangeStart> starts_;
  std::uint64_t total_bytes_ = 0;
  bool is_known_ = true;
  std::uint64_t digest_ = 0;
  ReadAccess readers_;
};

/// Iterates over the files of some ranges, or the parts of them in these ranges, in order.
/// Errors: as InputWalk.
class RangeWalk {
 public:
  /// `wants` is called with each range when it is reached, and returns whether to include it.
  RangeWalk(const InputRanges& ranges, std::function<bool(std::uint64_t range)> wants);
  std::optional<InputFile> next();

 private:
  bool begins(std::uint64_t byte) const;

  std::vector<RangeStart> starts_;
  std::function<bool(std::uint64_t)> wants_;
  InputWalk files_;
  std::optional<InputFile> file_;
  std::uint64_t number_ = 0;  // number of the file
  std::uint64_t begin_ = 0;   // start of its part not yet returned
  std::uint64_t range_ = 0;   // next range
  bool is_wanted_ = false;    // `wants` accepted the range before it
};

/// Returns the first offset from `from` on at which a document of a plain file begins, or none.
/// Documents begin after a newline in JSON lines, else after a separator. The result agrees with
/// reading from the start: of overlapping separators, the first counts.
std::optional<std::uint64_t> next_document(const File& file, std::uint64_t from,
                                           const std::string& separator);

}  // namespace dt::data
