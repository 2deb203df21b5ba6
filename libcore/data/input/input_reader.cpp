#include "data/input/input_reader.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/text/text.hpp"
#include "data/input/archive_reader.hpp"
#include "data/input/content.hpp"
#include "data/input/decompressor.hpp"
#include "data/input/megatron_index.hpp"
#include "data/input/sniff_json.hpp"
#include "data/input/utf8_mender.hpp"

namespace dt::data {

namespace {

constexpr std::size_t block_bytes = std::size_t{256} << 10;
constexpr std::size_t max_blocks = 16;
/// Limit on nesting. Each layer takes memory and stack while its content is read, and a file can
/// contain itself (a gzip quine).
constexpr int max_layers = 16;

/// Thrown to end the thread when the reader is destroyed.
struct ReadingStopped {};

constexpr std::chrono::milliseconds idle_time{200};

/// Returns the name without the suffix of a compression: "a.jsonl.gz" becomes "a.jsonl".
std::string without_suffix(const std::string& name) {
  constexpr std::array<std::string_view, 8> suffixes = {".gz",  ".zst", ".zstd", ".xz",
                                                        ".bz2", ".lz4", ".lzma", ".lz"};
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

/// Counts the bytes that come out of a layer.
class InputReader::Unpacked final : public ByteSource {
 public:
  Unpacked(ByteSource& source, int depth, InputReader& reader)
      : source_(source), depth_(depth), reader_(reader) {}
  std::size_t read(std::span<char> out) override {
    const std::size_t count = source_.read(out);
    reader_.count_unpacked(depth_, count);
    return count;
  }

 private:
  ByteSource& source_;
  int depth_;
  InputReader& reader_;
};

InputReader::InputReader(NextInput inputs, InputOptions options)
    : next_input_(std::move(inputs)), options_(options), thread_([this] { work(); }) {}

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
    while (const auto input = next_input_()) {
      input_ = *input;
      unpacked_bytes_.assign(max_layers + 2, 0);
      read_file(*input);
    }
  } catch (const ReadingStopped&) {
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

void InputReader::check() const {
  if (stopping_) throw ReadingStopped();
}

/// Adds to the output of a layer.
/// Errors: input if a layer of the present input exceeds the limit.
void InputReader::count_unpacked(int depth, std::size_t bytes) {
  const std::uint64_t total = unpacked_bytes_.at(static_cast<std::size_t>(depth)) += bytes;
  if (!options_.max_output_bytes || total <= *options_.max_output_bytes) return;
  throw Error(ErrorKind::input,
              fmt::format("{} unpacks to more than --max-output-bytes {}", input_.name(),
                          format_bytes(*options_.max_output_bytes)),
              "raise --max-output-bytes if the input should be this large");
}

void InputReader::push(InputBlock block) {
  block.file_bytes = file_->bytes_read() - std::exchange(reported_bytes_, file_->bytes_read());
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || blocks_.size() < max_blocks; });
    check();
    blocks_.push_back(std::move(block));
  }
  changed_.notify_all();
}

void InputReader::read_file(const InputFile& input) {
  if (options_.format == InputFormat::megatron) return read_megatron(input);
  FileSource file(input, [this] { check(); });
  file_ = &file;
  reported_bytes_ = 0;
  // A part of text may look like any format, so its content is not examined. Only text that has
  // been checked is cut.
  if (input.begin > 0 || input.end) return read_documents(file, input.name(), is_json_lines(input, options_));
  read_stream(file, input.name(), input.name());
}

/// Reads a stream. `plain_name` is the name without suffixes of compressions; `depth` is the number
/// of layers around it.
void InputReader::read_stream(ByteSource& source, const std::string& name, const std::string& plain_name,
                              int depth) {
  if (depth > max_layers)
    throw input_error("{} has more than {} nested layers of compression or archives", name, max_layers);
  PeekedSource peeked(source);
  if (read_if_tokens(peeked, name)) return;
  const Content content = content_of(peeked.first());
  if (codec_name(content) != nullptr) {
    Decompressor decompressor(peeked, content, name, options_);
    Unpacked unpacked(decompressor, depth, *this);
    return read_stream(unpacked, name, without_suffix(plain_name), depth + 1);
  }
  if (archive_name(content) != nullptr) return read_archive(peeked, content, name, depth);
  if (content == Content::plain) check_plain(peeked.first(), name, plain_name, options_);
  if (content != Content::plain)
    throw unsupported_table_error(content, name, &source == file_ && file_exists(name));
  if (options_.format == InputFormat::npy)
    throw Error(ErrorKind::input, name + " is not a NumPy .npy file",
                "read raw ids, such as a memmap, with --format bin");
  read_documents(peeked, name, is_json_lines(peeked, name, plain_name, options_));
}

void InputReader::read_archive(ByteSource& source, Content content, const std::string& name, int depth) {
  ArchiveReader archive(source, content, name);
  Unpacked unpacked(archive, depth, *this);
  bool is_first = true;
  while (const auto member = archive.next()) {
    if (content == Content::zip) check_is_no_document(name, *member, std::exchange(is_first, false));
    if (!is_hidden(*member)) read_stream(unpacked, name + ":" + *member, *member, depth + 1);
  }
}

void InputReader::read_documents(ByteSource& source, const std::string& name, bool is_jsonl) {
  InputStream made{name, is_jsonl};
  made.begin = input_.begin;
  made.range = input_.range;
  if (made.begin > 0) made.lines_before = std::make_shared<InputStream::LinesBefore>();
  const auto stream = std::make_shared<const InputStream>(std::move(made));
  Utf8Mender mender(options_.invalid);
  for (bool ends = false; !ends;) {
    std::string bytes(block_bytes, '\0');
    bytes.resize(read_full(source, bytes));
    ends = bytes.size() < block_bytes;
    InputBlock block;
    block.stream = stream;
    block.ends_stream = ends;
    block.bytes = mender.mend(std::move(bytes), ends);
    block.invalid_sequences = mender.take_count();
    push(std::move(block));
  }
}

/// Reads the stream if it holds token ids. Headerless ids may begin with any bytes, so with
/// --format bin no other format is considered.
bool InputReader::read_if_tokens(PeekedSource& source, const std::string& name) {
  const bool is_bin = options_.format == InputFormat::bin;
  const bool is_automatic = options_.format == InputFormat::automatic;
  if ((is_bin || is_automatic) && is_llmc(source.first())) {
    read_tokens(source, name, read_llmc_head(source, name));
  } else if (is_bin) {
    read_tokens(source, name, {options_.raw_type.value(), std::nullopt});
  } else if ((is_automatic || options_.format == InputFormat::npy) && is_npy(source.first())) {
    read_tokens(source, name, read_npy_head(source, name));
  } else {
    return false;
  }
  return true;
}

void InputReader::read_megatron(const InputFile& input) {
  if (input.path.extension() == ".idx") return;  // read together with its .bin
  if (input.is_stdin || input.path.extension() != ".bin") {
    throw Error(ErrorKind::input, input.name() + " is not a Megatron .bin file",
                "give X.bin with X.idx in the same folder, or that folder");
  }
  MegatronIndex index(fs::path(input.path).replace_extension(".idx"));
  FileSource file(input, [this] { check(); });
  file_ = &file;
  reported_bytes_ = 0;
  read_tokens(file, input.name(), {index.type(), std::nullopt}, &index);
}

void InputReader::read_tokens(ByteSource& source, const std::string& name, TokenHead head,
                              MegatronIndex* index) {
  if (!options_.takes_tokens) {
    throw Error(ErrorKind::input, name + " holds token ids, but their tokenizer is unknown",
                "name the tokenizer that made them (--tokenizer)");
  }
  const auto stream = std::make_shared<const InputStream>(InputStream{
      name, false, head.type, index != nullptr, 0, input_.range, index == nullptr && !head.num_tokens});
  TokenReader reader(source, name, head, index);
  for (bool ends = false; !ends;) {
    TokenBlock tokens = reader.next();
    ends = tokens.is_last;
    InputBlock block;
    block.stream = stream;
    block.bytes = std::move(tokens.bytes);
    block.ends_stream = ends;
    block.parts = std::move(tokens.parts);
    block.first_token = tokens.first_token;
    push(std::move(block));
  }
}

}  // namespace dt::data
