#pragma once
// Reads a text file from its end, so that a reader of the newest lines does not read them all.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/io/files.hpp"

namespace dt {

/// The lines of a file, from the last to the first. Each ends in '\n'; bytes after the last '\n'
/// are no line, since their writer may have died or may still write. The file may grow meanwhile:
/// only lines that were there at construction are read. Memory is bounded by a block and a line.
class ReverseLines {
 public:
  static constexpr std::size_t default_block_bytes = std::size_t{64} << 10;
  static constexpr std::size_t default_max_line_bytes = std::size_t{64} << 20;

  /// Opens the file. Skips lines longer than `max_line_bytes`, without '\n'.
  /// Errors: as File::open_read(); environment if reading fails.
  explicit ReverseLines(const fs::path& path, std::size_t block_bytes = default_block_bytes,
                        std::size_t max_line_bytes = default_max_line_bytes);

  /// Reads the next line toward the beginning, without '\n'. Returns false if there is none.
  /// Errors: input if a line has been cut off since construction; environment if reading fails.
  bool next(std::string& line);

  /// Return the file's size at construction, and the end of the last line in it.
  std::uint64_t file_bytes() const { return file_bytes_; }
  std::uint64_t complete_bytes() const { return complete_bytes_; }

 private:
  /// Returns the offset after the last '\n' before `end`, or 0.
  std::uint64_t find_line_begin(std::uint64_t end);
  /// Makes the block hold the bytes before `end`, which must not be 0.
  void load_before(std::uint64_t end);

  File file_;
  std::size_t block_bytes_;
  std::size_t max_line_bytes_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t complete_bytes_ = 0;
  std::uint64_t end_ = 0;  // end of the next line, after its '\n'
  std::string block_;
  std::uint64_t block_begin_ = 0;  // offset of the block in the file
};

}  // namespace dt
