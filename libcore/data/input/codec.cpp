#include "data/input/codec.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.hpp"

namespace dt::data {

namespace {

constexpr int gzip_window_bits = 15 + 16;                        // + 16: with gzip's header and trailer
constexpr std::uint64_t max_xz_memory = std::uint64_t{1} << 30;  // xz -9 takes 65 MiB

class GzipCodec final : public Codec {
 public:
  GzipCodec() { DT_CHECK(inflateInit2(&stream_, gzip_window_bits) == Z_OK, "zlib does not begin"); }
  ~GzipCodec() override { inflateEnd(&stream_); }
  GzipCodec(const GzipCodec&) = delete;

  Step advance(std::span<const char>& in, std::span<char>& out) override {
    const auto in_size = static_cast<uInt>(std::min<std::size_t>(in.size(), INT_MAX));
    const auto out_size = static_cast<uInt>(std::min<std::size_t>(out.size(), INT_MAX));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = in_size;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = out_size;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    in = in.subspan(in_size - stream_.avail_in);
    out = out.subspan(out_size - stream_.avail_out);
    if (result == Z_OK || result == Z_BUF_ERROR || result == Z_STREAM_END) return {result == Z_STREAM_END};
    return {false, stream_.msg != nullptr ? stream_.msg : zError(result)};
  }
  void begin_frame() override { inflateReset(&stream_); }

 private:
  z_stream stream_{};
};

class ZstdCodec final : public Codec {
 public:
  ZstdCodec() : stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
    DT_CHECK(stream_ != nullptr, "zstd does not begin");
  }

  Step advance(std::span<const char>& in, std::span<char>& out) override {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(stream_.get(), &output, &input);
    in = in.subspan(input.pos);
    out = out.subspan(output.pos);
    if (ZSTD_isError(result) != 0) return {false, ZSTD_getErrorName(result)};
    return {result == 0};
  }
  void begin_frame() override { ZSTD_initDStream(stream_.get()); }

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
};

class XzCodec final : public Codec {
 public:
  XzCodec() { begin_frame(); }
  ~XzCodec() override { lzma_end(&stream_); }
  XzCodec(const XzCodec&) = delete;

  Step advance(std::span<const char>& in, std::span<char>& out) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret result = lzma_code(&stream_, LZMA_RUN);
    in = in.last(stream_.avail_in);
    out = out.last(stream_.avail_out);
    return {result == LZMA_STREAM_END, failure_of(result)};
  }
  void begin_frame() override {
    DT_CHECK(lzma_stream_decoder(&stream_, max_xz_memory, 0) == LZMA_OK, "liblzma does not begin");
  }

 private:
  static const char* failure_of(lzma_ret result) {
    switch (result) {
      case LZMA_OK:
      case LZMA_STREAM_END:
      case LZMA_BUF_ERROR:
        return nullptr;
      case LZMA_FORMAT_ERROR:
        return "these bytes begin no xz stream";
      case LZMA_OPTIONS_ERROR:
        return "a filter or a check that liblzma does not have";
      case LZMA_MEMLIMIT_ERROR:
        return "it takes more than 1 GiB of memory to decompress";
      case LZMA_MEM_ERROR:
        return "there is not enough memory to decompress it";
      default:
        return "the data is corrupt";
    }
  }
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

}  // namespace

const char* codec_name(Content content) {
  switch (content) {
    case Content::gzip:
      return "gzip";
    case Content::zstd:
      return "zstd";
    case Content::xz:
      return "xz";
    default:
      return nullptr;
  }
}

std::unique_ptr<Codec> make_codec(Content content) {
  DT_CHECK(codec_name(content) != nullptr, "no codec for content {}", static_cast<int>(content));
  if (content == Content::gzip) return std::make_unique<GzipCodec>();
  if (content == Content::zstd) return std::make_unique<ZstdCodec>();
  return std::make_unique<XzCodec>();
}

}  // namespace dt::data
