#pragma once
// Decompression of a stream.

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "data/input/byte_source.hpp"
#include "data/input/codec.hpp"
#include "data/input/input_options.hpp"

namespace dt::data {

/// Returns the content of a compressed stream. Consecutive frames form one content, as in gunzip,
/// unzstd, unxz and bunzip2. Zeros between and after frames are skipped.
/// Errors: input from read(), with `name` and the offset in the compressed bytes, for truncated or
/// damaged data, and for data after a frame that is not a frame. read() verifies checksums. Input,
/// too, if decompression needs more memory than `options` allow.
class Decompressor final : public ByteSource {
 public:
  /// `compressed` and `options` must outlive the object. Reports more than some 128 MiB to
  /// options.notes before allocation.
  Decompressor(ByteSource& compressed, Content content, std::string name, const InputOptions& options);
  std::size_t read(std::span<char> out) override;

 private:
  bool begin_frame();
  void refill();
  void take_memory(std::uint64_t bytes) const;
  Error unsupported(const std::string& what) const;
  Error damaged(const std::string& what) const;

  ByteSource& compressed_;
  Content content_;
  std::string name_;
  const InputOptions& options_;
  std::unique_ptr<Codec> codec_;
  std::vector<char> buffer_;
  std::span<const char> input_;   // part of the buffer not yet consumed
  std::uint64_t bytes_read_ = 0;  // total up to the end of the buffer
  bool is_input_at_end_ = false;
  bool is_between_frames_ = false;
};

}  // namespace dt::data
