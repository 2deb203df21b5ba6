#include "data/input/input_ranges.hpp"

#include <algorithm>
#include <sys/stat.h>
#include <utility>

#include "base/numeric/digest.hpp"
#include "data/input/byte_source.hpp"
#include "data/input/content.hpp"
#include "data/input/sniff_json.hpp"
#include "data/input/token_file.hpp"

namespace dt::data {

namespace {

constexpr std::uint64_t max_ranges = 512;
constexpr std::size_t window_bytes = std::size_t{256} << 10;

/// Returns the separator of an input's documents, or "" if the input is not divided.
std::string separator_of(const InputFile& input, const ReadOptions& options) {
  const bool may_be_text = options.format == InputFormat::automatic || options.format == InputFormat::text ||
                           options.format == InputFormat::jsonl;
  if (!input.bytes || !may_be_text || options.invalid != InvalidUtf8::fail) return {};
  FileSource file(input, [] {});
  PeekedSource peeked(file);
  if (content_of(peeked.first()) != Content::plain || is_npy(peeked.first()) || is_llmc(peeked.first()))
    return {};
  check_plain(peeked.first(), input.name(), input.name(), options);
  return is_json_lines(peeked, input.name(), input.name(), options) ? "\n" : options.document_separator;
}

std::string state_of(const fs::path& path, ReadAccess& readers) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return path.string() + '\0';
  readers &= ReadAccess::of(path, status);
  return fmt::format("{}{}{} {}.{:09}\n", path.string(), '\0', status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

/// Returns whether a separator that overlaps the one at `found` begins before it.
bool overlaps_one_before(std::string_view text, std::size_t found, const std::string& separator) {
  for (std::size_t begin = found - std::min(found, separator.size() - 1); begin < found; ++begin) {
    if (text.substr(begin).starts_with(separator)) return true;
  }
  return false;
}

}  // namespace

std::optional<std::uint64_t> next_document(const File& file, std::uint64_t from,
                                           const std::string& separator) {
  const std::uint64_t size = file.size();
  const std::uint64_t context = separator.size() - 1;  // bytes examined before and after the window
  std::string text;
  for (std::uint64_t window = from; window < size; window += window_bytes) {
    const std::uint64_t begin = window - std::min(window, context);
    const std::uint64_t end = std::min(window + window_bytes + context, size);
    text.resize(end - begin);
    file.read_at(begin, std::as_writable_bytes(std::span(text)));
    for (std::size_t at = window - begin; (at = text.find(separator, at)) != text.npos; ++at) {
      if (!overlaps_one_before(text, at, separator)) return begin + at + separator.size();
    }
  }
  return std::nullopt;
}

InputRanges::InputRanges(std::vector<std::string> inputs, const ReadOptions& options, std::uint64_t min_bytes,
                         const std::function<void()>& idle)
    : inputs_(std::move(inputs)) {
  measure(options.format, idle);
  cut(std::max(min_bytes, total_bytes_ / max_ranges), options, idle);
}

void InputRanges::measure(InputFormat format, const std::function<void()>& idle) {
  Digester digester;
  InputWalk walk(inputs_);
  while (const auto input = walk.next()) {
    idle();
    is_known_ = is_known_ && input->bytes.has_value();
    total_bytes_ += input->bytes.value_or(0);
    std::string state = state_of(input->path, readers_);
    if (format == InputFormat::megatron)
      state += state_of(fs::path(input->path).replace_extension(".idx"), readers_);
    digester.update(std::as_bytes(std::span(state)));
  }
  readers_ &= walk.readers();
  digest_ = digester.value();
}

void InputRanges::cut(std::uint64_t range_bytes, const ReadOptions& options,
                      const std::function<void()>& idle) {
  std::uint64_t filled = range_bytes;  // bytes in the present range
  std::uint64_t number = 0;
  InputWalk walk(inputs_);
  for (std::optional<InputFile> input; (input = walk.next()); ++number) {
    idle();
    if (filled >= range_bytes || !input->bytes) {
      starts_.push_back({number, 0});
      filled = 0;
    }
    const std::uint64_t size = input->bytes.value_or(range_bytes);
    const std::string separator = filled + size > range_bytes ? separator_of(*input, options) : "";
    std::uint64_t begin = 0;
    while (!separator.empty() && filled + size - begin > range_bytes) {
      const auto next = next_document(File::open_read(input->path), begin + range_bytes - filled, separator);
      if (!next || *next >= size) break;
      starts_.push_back({number, *next});
      begin = *next;
      filled = 0;
    }
    filled += size - begin;
  }
}

RangeWalk::RangeWalk(const InputRanges& ranges, std::function<bool(std::uint64_t range)> wants)
    : starts_(ranges.starts()), wants_(std::move(wants)), files_(ranges.inputs()) {}

std::optional<InputFile> RangeWalk::next() {
  for (;;) {
    if (!file_) {
      file_ = files_.next();
      if (!file_) return std::nullopt;
      begin_ = 0;
    }
    if (begins(begin_)) is_wanted_ = wants_(range_++);
    InputFile slice = *file_;
    slice.range = range_ - 1;
    slice.begin = begin_;
    if (range_ < starts_.size() && starts_[range_].file == number_) {
      begin_ = starts_[range_].byte;
      slice.end = begin_;
    } else {
      file_.reset();
      ++number_;
    }
    if (is_wanted_) return slice;
  }
}

/// Returns whether a range begins at this byte of the present file.
bool RangeWalk::begins(std::uint64_t byte) const {
  return range_ < starts_.size() && starts_[range_] == RangeStart{number_, byte};
}

}  // namespace dt::data
