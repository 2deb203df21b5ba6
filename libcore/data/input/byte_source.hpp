#pragma once
// Streams of bytes: a file or a pipe, and what is derived from them (decompressed data, an
// archive's member).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "data/input/inputs.hpp"

namespace dt::data {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads at least one and at most out.size() bytes. Returns the count, 0 at the end.
  virtual std::size_t read(std::span<char> out) = 0;
  /// Returns the number of bytes if seek() may be called, or none if bytes only come in order.
  virtual std::optional<std::uint64_t> size() const { return std::nullopt; }
  /// Moves to the byte at which the next read() begins.
  virtual void seek(std::uint64_t) { DT_CHECK(false, "this source can only be read in order"); }
};

/// Reads until `out` is full or the source ends. Returns the count.
std::size_t read_full(ByteSource& source, std::span<char> out);

/// The requested part of a file, a pipe, or standard input. `check` is called before each read and,
/// while a pipe has nothing to read, a few times a second. An exception from it ends the read.
/// Errors: input if it cannot be opened; environment for a failed read.
class FileSource final : public ByteSource {
 public:
  FileSource(const InputFile& input, std::function<void()> check);
  std::size_t read(std::span<char> out) override;
  std::optional<std::uint64_t> size() const override { return may_wait_ || end_ ? std::nullopt : size_; }
  void seek(std::uint64_t offset) override;
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  void wait_for_pipe() const;
  File file_;
  int descriptor_;
  std::string name_;
  std::optional<std::uint64_t> size_;
  bool may_wait_;
  std::function<void()> check_;
  std::optional<std::uint64_t> end_;  // end of the requested part, counted from its start
  std::uint64_t bytes_read_ = 0;
};

/// A source whose first bytes can be examined before they are read.
class PeekedSource final : public ByteSource {
 public:
  explicit PeekedSource(ByteSource& source);
  /// Returns the first 512 bytes, or all if there are fewer.
  std::string_view first() const { return std::string_view(first_).substr(0, peeked_bytes); }
  /// Examines more bytes, up to the end of the first line that is not blank, but at most
  /// `max_bytes`. Returns all bytes examined. Call it before the first read.
  std::string_view peek_line(std::size_t max_bytes);
  std::size_t read(std::span<char> out) override;
  std::optional<std::uint64_t> size() const override { return source_.size(); }
  void seek(std::uint64_t offset) override;

 private:
  ByteSource& source_;
  static constexpr std::size_t peeked_bytes = 512;
  std::string first_;
  std::size_t taken_ = 0;
};

}  // namespace dt::data
