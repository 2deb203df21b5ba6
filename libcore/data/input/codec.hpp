#pragma once
// Stepwise decompression by zlib, libzstd, liblzma, libbz2 and liblz4 behind one interface.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "data/input/content.hpp"

namespace dt::data {

/// Decompresses frame after frame. A frame is a member of gzip, a frame of zstd or lz4, or a stream
/// of the others.
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

}  // namespace dt::data
