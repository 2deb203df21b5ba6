#pragma once
// Decompression a step at a time, as zlib, libzstd, liblzma, libbz2 and liblz4 do it, behind one interface.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "data/input/content.hpp"

namespace dt::data {

/// One frame after another: a member of gzip, a frame of zstd or lz4, a stream of the others.
class Codec {
 public:
  virtual ~Codec() = default;

  struct Step {
    bool ends_frame = false;
    const char* failure = nullptr;  // what is wrong with the compressed bytes
    bool is_unsupported = false;    // they may be sound, but the library does not read them
  };
  /// Decompresses from the front of `in` to the front of `out` and moves both past what it took and gave.
  virtual Step advance(std::span<const char>& in, std::span<char>& out) = 0;
  /// After a frame's end: another follows.
  virtual void begin_frame() = 0;
};

/// "gzip", "zstd", "xz", …; nullptr where `content` is not compressed.
const char* codec_name(Content content);

/// Called before a codec takes more than `modest_memory`, with what it will take. It throws where that is too
/// much.
using TakeMemory = std::function<void(std::uint64_t bytes)>;
inline constexpr std::uint64_t modest_memory = std::uint64_t{129} << 20;  // a window of 128 MiB, and buffers

/// Errors of advance(): std::bad_alloc where memory is missing; what `take` throws.
std::unique_ptr<Codec> make_codec(Content content, TakeMemory take);

}  // namespace dt::data
