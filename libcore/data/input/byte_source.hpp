#pragma once
// Bytes as a stream: of a file or a pipe, and what is made of them (decompressed, a member of an archive).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/files.hpp"
#include "data/inputs.hpp"

namespace dt::data {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads at least one and at most out.size() bytes; returns the count, 0 at the end.
  virtual std::size_t read(std::span<char> out) = 0;
};

/// Reads until `out` is full or the source ends; returns the count.
std::size_t read_full(ByteSource& source, std::span<char> out);

/// What is meant of a file, a pipe or standard input. `check` is called before each read and, while a pipe
/// has nothing to read, a few times a second; what it throws ends the read. Errors: input, where it cannot be
/// opened; environment, a failed read.
class FileSource final : public ByteSource {
 public:
  FileSource(const InputFile& input, std::function<void()> check);
  std::size_t read(std::span<char> out) override;
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  void wait_for_pipe() const;
  File file_;
  int descriptor_;
  std::string name_;
  bool may_wait_;
  std::function<void()> check_;
  std::optional<std::uint64_t> end_;  // of what is meant, after its begin
  std::uint64_t bytes_read_ = 0;
};

/// A source whose first bytes can be looked at before they are read.
class PeekedSource final : public ByteSource {
 public:
  explicit PeekedSource(ByteSource& source);
  /// The first 512 bytes, or all where there are fewer.
  std::string_view first() const { return first_; }
  std::size_t read(std::span<char> out) override;

 private:
  ByteSource& source_;
  std::string first_;
  std::size_t taken_ = 0;
};

}  // namespace dt::data
