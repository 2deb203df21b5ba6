#pragma once
// Decompression a step at a time, as zlib, libzstd and liblzma do it, behind one interface.

#include <memory>
#include <span>

#include "data/input/content.hpp"

namespace dt::data {

/// One frame after another: a member of gzip, a frame of zstd, a stream of xz.
class Codec {
 public:
  virtual ~Codec() = default;

  struct Step {
    bool ends_frame = false;
    const char* failure = nullptr;  // what is wrong with the compressed bytes
  };
  /// Decompresses from the front of `in` to the front of `out` and moves both past what it took and gave.
  virtual Step advance(std::span<const char>& in, std::span<char>& out) = 0;
  /// After a frame's end: another follows.
  virtual void begin_frame() = 0;
};

/// "gzip", "zstd", "xz"; nullptr where `content` is not compressed.
const char* codec_name(Content content);
std::unique_ptr<Codec> make_codec(Content content);

}  // namespace dt::data
