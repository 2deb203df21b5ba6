#include "data/input/decompressor.hpp"

#include <algorithm>

namespace dt::data {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{128} << 10;

}  // namespace

Decompressor::Decompressor(ByteSource& compressed, Content content, std::string name)
    : compressed_(compressed),
      content_(content),
      name_(std::move(name)),
      codec_(make_codec(content)),
      buffer_(buffer_bytes) {}

std::size_t Decompressor::read(std::span<char> out) {
  std::span<char> rest = out;
  while (rest.size() == out.size()) {
    if (is_between_frames_ && !begin_frame()) return 0;
    refill();
    const Codec::Step step = codec_->advance(input_, rest);
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

Error Decompressor::damaged(const std::string& what) const {
  return Error(ErrorKind::input,
               fmt::format("{} is damaged: {} at byte {}: {}", name_, codec_name(content_),
                           bytes_read_ - input_.size(), what),
               "fetch it again, or make it again from what was compressed");
}

}  // namespace dt::data
