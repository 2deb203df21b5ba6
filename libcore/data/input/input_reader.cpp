#include "data/input/input_reader.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "data/input/content.hpp"
#include "data/input/decompressor.hpp"
#include "data/input/tables.hpp"
#include "data/input/tar_reader.hpp"
#include "data/input/utf8_mender.hpp"

namespace dt::data {

namespace {

constexpr std::size_t block_bytes = std::size_t{256} << 10;
constexpr std::size_t max_blocks = 16;
constexpr std::chrono::milliseconds idle_time{200};

/// "a.jsonl.gz" is "a.jsonl" compressed.
std::string without_suffix(const std::string& name) {
  constexpr std::array<std::string_view, 4> suffixes = {".gz", ".zst", ".zstd", ".xz"};
  for (const std::string_view suffix : suffixes) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

bool is_hidden(const std::string& path) {
  const fs::path parts(path);
  return std::any_of(parts.begin(), parts.end(), [](const fs::path& part) {
    return part != "." && part != ".." && part.native().starts_with('.');
  });
}

}  // namespace

InputReader::InputReader(const std::vector<std::string>& inputs, TextFormat format, InvalidUtf8 invalid)
    : walk_(inputs), format_(format), invalid_(invalid), thread_([this] { work(); }) {}

InputReader::~InputReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::optional<InputBlock> InputReader::next(const std::function<void()>& idle) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, idle_time, [this] { return ended_ || !blocks_.empty(); })) {
    lock.unlock();
    idle();
    lock.lock();
  }
  if (blocks_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  InputBlock block = std::move(blocks_.front());
  blocks_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return block;
}

void InputReader::work() {
  std::exception_ptr failure;
  try {
    while (const auto input = walk_.next()) read_file(*input);
  } catch (const ReadingStopped&) {  // nobody waits for more
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    ended_ = true;
  }
  changed_.notify_all();
}

void InputReader::push(InputBlock block) {
  block.file_bytes = file_->bytes_read() - std::exchange(reported_bytes_, file_->bytes_read());
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || blocks_.size() < max_blocks; });
    if (stopping_) throw ReadingStopped();
    blocks_.push_back(std::move(block));
  }
  changed_.notify_all();
}

void InputReader::read_file(const InputFile& input) {
  FileSource file(input, stopping_);
  file_ = &file;
  reported_bytes_ = 0;
  read_stream(file, input.name(), input.name());
}

/// `plain_name` is what the name would be if nothing were compressed.
void InputReader::read_stream(ByteSource& source, const std::string& name, const std::string& plain_name) {
  PeekedSource peeked(source);
  const Content content = content_of(peeked.first());
  if (codec_name(content) != nullptr) {
    Decompressor decompressor(peeked, content, name);
    return read_stream(decompressor, name, without_suffix(plain_name));
  }
  if (content == Content::tar) return read_archive(peeked, name);
  if (content != Content::plain)
    throw table_error(content, name, &source == file_ && fs::is_regular_file(name));
  read_documents(peeked, name, plain_name);
}

void InputReader::read_archive(ByteSource& source, const std::string& name) {
  TarReader archive(source, name);
  while (const auto member = archive.next()) {
    if (!is_hidden(*member)) read_stream(archive, name + ":" + *member, *member);
  }
}

void InputReader::read_documents(ByteSource& source, const std::string& name, const std::string& plain_name) {
  const auto stream = std::make_shared<const InputStream>(InputStream{name, is_jsonl(plain_name, format_)});
  Utf8Mender mender(invalid_);
  for (bool ends = false; !ends;) {
    std::string bytes(block_bytes, '\0');
    bytes.resize(read_full(source, bytes));
    ends = bytes.size() < block_bytes;
    bytes = mender.mend(std::move(bytes), ends);
    push({stream, std::move(bytes), ends, 0, mender.take_count()});
  }
}

}  // namespace dt::data
