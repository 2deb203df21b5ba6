#pragma once
// Decompression of a stream, by zlib, libzstd, liblzma, libbz2 and liblz4 behind one interface.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "data/input/byte_source.hpp"
#include "data/input/content.hpp"
#include "data/input/input_options.hpp"

namespace dt::data {

/// A library that decompresses step by step, frame after frame. A frame is a member of gzip, a frame of zstd
/// or lz4, or a stream of the others.
class Codec {
 public:
  virtual ~Codec() = default;

  struct Step {
    bool ends_frame = false;
    const char* failure = nullptr;  // defect of the compressed bytes
    bool is_unsupported = false;    // they may be sound, but the library does not support them
  };
  /// Decompresses from the front of `in` to the front of `out`. Moves both past the bytes consumed
  /// and produced.
  virtual Step advance(std::span<const char>& in, std::span<char>& out) = 0;
  /// Prepares for another frame after the end of one.
  virtual void begin_frame() = 0;
};

/// Returns "gzip", "zstd", "xz", …, or nullptr if `content` is not compressed.
const char* codec_name(Content content);

/// Called before a codec allocates more than `modest_memory`, with the amount. It throws if that is
/// too much.
using TakeMemory = std::function<void(std::uint64_t bytes)>;
inline constexpr std::uint64_t modest_memory = std::uint64_t{129} << 20;  // a window of 128 MiB, and buffers

/// Creates a codec.
/// Errors: from advance(): std::bad_alloc if memory is short; as `take`.
std::unique_ptr<Codec> make_codec(Content content, TakeMemory take);

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
