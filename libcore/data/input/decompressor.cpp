#include "data/input/decompressor.hpp"

#include <algorithm>
#include <bzlib.h>
#include <climits>
#include <cstdint>
#include <lz4frame.h>
#include <lzma.h>
#include <new>
#include <string>
#include <utility>
#include <zlib.h>

#include "base/text/text.hpp"

// A frame's header and memory are in the part of the interface that may change between versions.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.hpp"

namespace dt::data {

namespace {

constexpr int gzip_window_bits = 15 + 16;  // + 16 accepts gzip's header and trailer

class GzipCodec final : public Codec {
 public:
  GzipCodec() { DT_CHECK(inflateInit2(&stream_, gzip_window_bits) == Z_OK, "zlib failed to start"); }
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
  explicit ZstdCodec(TakeMemory take)
      : stream_(ZSTD_createDStream(), ZSTD_freeDStream), take_(std::move(take)) {
    DT_CHECK(stream_ != nullptr, "zstd failed to start");
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax,
                           ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
  }

  Step advance(std::span<const char>& in, std::span<char>& out) override {
    if (!is_header_whole_) read_header(in);
    if (!is_header_whole_) return {};
    std::span<const char> header = std::span(header_).subspan(header_taken_);
    if (!header.empty()) {
      const Step step = decompress(header, out);
      header_taken_ = header_.size() - header.size();
      if (!header.empty() || step.ends_frame || step.failure != nullptr) return step;
    }
    return decompress(in, out);
  }
  void begin_frame() override {
    ZSTD_initDStream(stream_.get());
    header_.clear();
    header_taken_ = 0;
    is_header_whole_ = false;
  }

 private:
  /// Holds bytes back until they tell how much memory the frame needs.
  void read_header(std::span<const char>& in) {
    while (!in.empty() && !is_header_whole_) {
      header_ += in.front();
      in = in.subspan(1);
      ZSTD_frameHeader header;
      const std::size_t missing = ZSTD_getFrameHeader(&header, header_.data(), header_.size());
      if (missing > 0 && ZSTD_isError(missing) == 0) continue;
      is_header_whole_ = true;
      if (missing > 0 || header.frameType != ZSTD_frame) return;  // the decoder reports the defect
      // Content shorter than its window needs only as much memory as its size.
      const std::uint64_t bytes =
          ZSTD_estimateDStreamSize(std::min(header.windowSize, header.frameContentSize));
      if (bytes > modest_memory) take_(bytes);
    }
  }

  Step decompress(std::span<const char>& in, std::span<char>& out) {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(stream_.get(), &output, &input);
    in = in.subspan(input.pos);
    out = out.subspan(output.pos);
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge)
      return {false, "its window is larger than libzstd's limit of 2 GiB", true};
    if (ZSTD_isError(result) != 0) return {false, ZSTD_getErrorName(result)};
    return {result == 0};
  }

  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  TakeMemory take_;
  std::string header_;
  std::size_t header_taken_ = 0;  // bytes of header_ consumed by the decoder
  bool is_header_whole_ = false;
};

/// Decoder of liblzma's formats: xz, lzma alone, lzip.
class LzmaCodec final : public Codec {
 public:
  LzmaCodec(Content content, TakeMemory take) : content_(content), take_(std::move(take)) { begin_frame(); }
  ~LzmaCodec() override { lzma_end(&stream_); }
  LzmaCodec(const LzmaCodec&) = delete;

  Step advance(std::span<const char>& in, std::span<char>& out) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    lzma_ret result = lzma_code(&stream_, LZMA_RUN);
    while (result == LZMA_MEMLIMIT_ERROR) {
      const std::uint64_t bytes = lzma_memusage(&stream_);
      take_(bytes);
      lzma_memlimit_set(&stream_, bytes);
      result = lzma_code(&stream_, LZMA_RUN);
    }
    if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
    in = in.last(stream_.avail_in);
    out = out.last(stream_.avail_out);
    return {result == LZMA_STREAM_END, failure_of(result), result == LZMA_OPTIONS_ERROR};
  }
  void begin_frame() override { DT_CHECK(begin() == LZMA_OK, "liblzma failed to start"); }

 private:
  lzma_ret begin() {
    if (content_ == Content::lzma) return lzma_alone_decoder(&stream_, modest_memory);
    if (content_ == Content::lzip) return lzma_lzip_decoder(&stream_, modest_memory, 0);
    return lzma_stream_decoder(&stream_, modest_memory, 0);
  }
  static const char* failure_of(lzma_ret result) {
    switch (result) {
      case LZMA_OK:
      case LZMA_STREAM_END:
      case LZMA_BUF_ERROR:
        return nullptr;
      case LZMA_FORMAT_ERROR:
        return "a stream does not begin here";
      case LZMA_OPTIONS_ERROR:
        return "it uses a filter or an integrity check that liblzma does not support";
      default:
        return "the data is corrupt";
    }
  }
  Content content_;
  TakeMemory take_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class Bzip2Codec final : public Codec {
 public:
  Bzip2Codec() { begin(); }
  ~Bzip2Codec() override { BZ2_bzDecompressEnd(&stream_); }
  Bzip2Codec(const Bzip2Codec&) = delete;

  Step advance(std::span<const char>& in, std::span<char>& out) override {
    const auto in_size = static_cast<unsigned>(std::min<std::size_t>(in.size(), INT_MAX));
    const auto out_size = static_cast<unsigned>(std::min<std::size_t>(out.size(), INT_MAX));
    stream_.next_in = const_cast<char*>(in.data());
    stream_.avail_in = in_size;
    stream_.next_out = out.data();
    stream_.avail_out = out_size;
    const int result = BZ2_bzDecompress(&stream_);
    in = in.subspan(in_size - stream_.avail_in);
    out = out.subspan(out_size - stream_.avail_out);
    if (result == BZ_MEM_ERROR) throw std::bad_alloc();
    if (result == BZ_OK || result == BZ_STREAM_END) return {result == BZ_STREAM_END};
    return {false, result == BZ_DATA_ERROR_MAGIC ? "a stream does not begin here" : "the data is corrupt"};
  }
  void begin_frame() override {
    BZ2_bzDecompressEnd(&stream_);
    begin();
  }

 private:
  void begin() {
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
  }
  bz_stream stream_{};
};

class Lz4Codec final : public Codec {
 public:
  Lz4Codec() {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION)) != 0) throw std::bad_alloc();
  }
  ~Lz4Codec() override { LZ4F_freeDecompressionContext(context_); }
  Lz4Codec(const Lz4Codec&) = delete;

  Step advance(std::span<const char>& in, std::span<char>& out) override {
    std::size_t in_size = in.size();
    std::size_t out_size = out.size();
    const std::size_t result = LZ4F_decompress(context_, out.data(), &out_size, in.data(), &in_size, nullptr);
    in = in.subspan(in_size);
    out = out.subspan(out_size);
    if (LZ4F_isError(result) != 0) return {false, LZ4F_getErrorName(result)};
    return {result == 0};
  }
  void begin_frame() override { LZ4F_resetDecompressionContext(context_); }

 private:
  LZ4F_dctx* context_ = nullptr;
};

constexpr std::size_t buffer_bytes = std::size_t{128} << 10;

}  // namespace

const char* codec_name(Content content) {
  switch (content) {
    case Content::gzip:
      return "gzip";
    case Content::zstd:
      return "zstd";
    case Content::xz:
      return "xz";
    case Content::lzma:
      return "lzma";
    case Content::lzip:
      return "lzip";
    case Content::bzip2:
      return "bzip2";
    case Content::lz4:
      return "lz4";
    default:
      return nullptr;
  }
}

std::unique_ptr<Codec> make_codec(Content content, TakeMemory take) {
  switch (content) {
    case Content::gzip:
      return std::make_unique<GzipCodec>();
    case Content::zstd:
      return std::make_unique<ZstdCodec>(std::move(take));
    case Content::bzip2:
      return std::make_unique<Bzip2Codec>();
    case Content::lz4:
      return std::make_unique<Lz4Codec>();
    default:
      DT_CHECK(codec_name(content) != nullptr, "no codec for content {}", static_cast<int>(content));
      return std::make_unique<LzmaCodec>(content, std::move(take));
  }
}

Decompressor::Decompressor(ByteSource& compressed, Content content, std::string name,
                           const InputOptions& options)
    : compressed_(compressed),
      content_(content),
      name_(std::move(name)),
      options_(options),
      codec_(make_codec(content, [this](std::uint64_t bytes) { take_memory(bytes); })),
      buffer_(buffer_bytes) {}

std::size_t Decompressor::read(std::span<char> out) {
  std::span<char> rest = out;
  while (rest.size() == out.size()) {
    if (is_between_frames_ && !begin_frame()) return 0;
    refill();
    const Codec::Step step = codec_->advance(input_, rest);
    if (step.failure != nullptr && step.is_unsupported) throw unsupported(step.failure);
    if (step.failure != nullptr) throw damaged(step.failure);
    is_between_frames_ = step.ends_frame;
    if (rest.size() == out.size() && is_input_at_end_ && !is_between_frames_)
      throw damaged("the data ends too early");
  }
  return out.size() - rest.size();
}

bool Decompressor::begin_frame() {
  for (refill(); !input_.empty() && input_.front() == '\0'; refill()) input_ = input_.subspan(1);
  if (input_.empty()) return false;
  codec_->begin_frame();
  is_between_frames_ = false;
  return true;
}

void Decompressor::refill() {
  if (!input_.empty() || is_input_at_end_) return;
  const std::size_t count = compressed_.read(buffer_);
  is_input_at_end_ = count == 0;
  bytes_read_ += count;
  input_ = std::span(buffer_).first(count);
}

void Decompressor::take_memory(std::uint64_t bytes) const {
  const std::string codec = codec_name(content_);
  if (bytes > options_.decompress_memory)
    throw Error(ErrorKind::input,
                fmt::format("{} needs {} of memory to decompress ({}), more than --decompress-memory {}",
                            name_, format_bytes(bytes), codec, format_bytes(options_.decompress_memory)),
                "raise --decompress-memory if the node has the memory, or compress the file again with a "
                "smaller window");
  if (options_.notes) options_.notes->decompress_memory(name_, codec, bytes);
}

Error Decompressor::unsupported(const std::string& what) const {
  return Error(ErrorKind::input,
               fmt::format("{} cannot be decompressed: {}: {}", name_, codec_name(content_), what),
               "decompress it with the program that compressed it");
}

Error Decompressor::damaged(const std::string& what) const {
  return Error(ErrorKind::input,
               fmt::format("{} is damaged: {} at byte {}: {}", name_, codec_name(content_),
                           bytes_read_ - input_.size(), what),
               "download the file again, or compress the original again");
}

}  // namespace dt::data
