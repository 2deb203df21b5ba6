#pragma once
// A compressed stream as its content.

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "data/input/byte_source.hpp"
#include "data/input/codec.hpp"
#include "data/input/input_options.hpp"

namespace dt::data {

/// Frames that follow each other are one content, as in gunzip, unzstd, unxz and bunzip2; zeros between and
/// after them are passed over. Errors of read(): input, for what is truncated, damaged (checksums are
/// compared) or followed by what is no frame, with `name` and the offset in the compressed bytes, and for
/// what takes more memory than `options` have for it.
class Decompressor final : public ByteSource {
 public:
  /// `compressed` and `options` outlive it. Memory above some 128 MiB is told before it is taken.
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
  std::span<const char> input_;   // of the buffer, not yet taken
  std::uint64_t bytes_read_ = 0;  // to the end of the buffer
  bool is_input_at_end_ = false;
  bool is_between_frames_ = false;
};

}  // namespace dt::data
