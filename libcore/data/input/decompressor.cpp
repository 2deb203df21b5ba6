#include "data/input/decompressor.hpp"

#include <algorithm>
#include <utility>

#include "base/text/text.hpp"

namespace dt::data {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{128} << 10;

}  // namespace

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
      throw damaged("it ends too early");
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
                fmt::format("{} takes {} of memory to decompress ({}), more than --decompress-memory {}",
                            name_, format_bytes(bytes), codec, format_bytes(options_.decompress_memory)),
                "raise it where there is the memory, or compress the file anew with a smaller window");
  if (options_.notes) options_.notes->decompress_memory(name_, codec, bytes);
}

Error Decompressor::unsupported(const std::string& what) const {
  return Error(ErrorKind::input, fmt::format("{} is not read: {}: {}", name_, codec_name(content_), what),
               "decompress it with the program that made it");
}

Error Decompressor::damaged(const std::string& what) const {
  return Error(ErrorKind::input,
               fmt::format("{} is damaged: {} at byte {}: {}", name_, codec_name(content_),
                           bytes_read_ - input_.size(), what),
               "fetch it again, or make it again from what was compressed");
}

}  // namespace dt::data
