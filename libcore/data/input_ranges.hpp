#pragma once
// Inputs cut into ranges, the same whoever reads them: what one task does at a time, and what is there or not
// after an interruption.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/audience.hpp"
#include "base/files.hpp"
#include "data/chunk_reader.hpp"
#include "data/inputs.hpp"

namespace dt::data {

struct RangeStart {
  std::uint64_t file;  // the how manieth of all
  std::uint64_t byte;  // of it
  bool operator==(const RangeStart&) const = default;
};

/// A range is some files in a row, or a part of a large one: of JSON lines, or of text with a separator of
/// documents, so that a document is in one range. What is compressed or holds token ids is not cut; what is
/// not a file (a pipe) is a range by itself. Ranges have at least `min_bytes` and a 512th of all bytes, but
/// for those before a pipe and the last. Errors: see InputWalk.
class InputRanges {
 public:
  /// `idle` is called for each input, of which there may be millions; what it throws passes through.
  InputRanges(
      std::vector<std::string> inputs, const ReadOptions& options, std::uint64_t min_bytes,
      const std::function<void()>& idle = [] {});

  std::uint64_t count() const { return starts_.size(); }
  /// 0 where there is a pipe.
  std::uint64_t total_bytes() const { return is_known_ ? total_bytes_ : 0; }
  bool has_pipe() const { return !is_known_; }
  /// Of the files' names, sizes and times of change.
  std::uint64_t digest() const { return digest_; }
  /// Returns who may read all files and enter the named folders.
  const Audience& readers() const { return readers_; }

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
  Audience readers_;
};

/// The files of some ranges, or what of them is in these, in order. Errors: see InputWalk.
class RangeWalk {
 public:
  /// `wants` is asked of each range when it is reached.
  RangeWalk(const InputRanges& ranges, std::function<bool(std::uint64_t range)> wants);
  std::optional<InputFile> next();

 private:
  bool begins(std::uint64_t byte) const;

  std::vector<RangeStart> starts_;
  std::function<bool(std::uint64_t)> wants_;
  InputWalk files_;
  std::optional<InputFile> file_;
  std::uint64_t number_ = 0;  // of the file
  std::uint64_t begin_ = 0;   // of what is left of it
  std::uint64_t range_ = 0;   // that comes next
  bool is_wanted_ = false;    // the one before it
};

/// The first offset from `from` on at which a document of a plain file begins, behind a newline for JSON
/// lines and else behind a separator; nothing where there is none. As one finds who reads from the start:
/// where separators overlap, the first of them counts.
std::optional<std::uint64_t> next_document(const File& file, std::uint64_t from,
                                           const std::string& separator);

}  // namespace dt::data
