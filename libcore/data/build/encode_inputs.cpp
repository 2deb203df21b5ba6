#include "data/build/encode_inputs.hpp"

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/system/task_pool.hpp"
#include "data/build/chunk_encoder.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

namespace {

/// A pool of encoders for tasks that threads share. Makes as many encoders as tasks run at once.
/// Thread safety: several threads may use it at once.
class EncoderPool {
 public:
  explicit EncoderPool(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// An encoder that belongs to its holder until destruction.
  class Lease {
   public:
    explicit Lease(EncoderPool& pool) : pool_(pool), encoder_(pool.acquire()) {}
    ~Lease() { pool_.release(std::move(encoder_)); }
    Lease(const Lease&) = delete;
    TextEncoder& operator*() const { return *encoder_; }

   private:
    EncoderPool& pool_;
    std::unique_ptr<TextEncoder> encoder_;
  };

 private:
  std::unique_ptr<TextEncoder> acquire() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return tokenizer_.encoder();
    std::unique_ptr<TextEncoder> encoder = std::move(idle_.back());
    idle_.pop_back();
    return encoder;
  }
  void release(std::unique_ptr<TextEncoder> encoder) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(encoder));
  }

  const Tokenizer& tokenizer_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<TextEncoder>> idle_;
};

/// Limits per thread: enough to keep it busy while the sink waits for another thread.
constexpr std::size_t bytes_in_flight = std::size_t{4} << 20;
constexpr std::size_t chunks_in_flight = 64;

std::string read_list(const std::string& list, const ReadProgress& progress) {
  constexpr std::size_t step_bytes = std::size_t{64} << 10;
  FileSource source({list, list == "-", std::nullopt}, [&] { progress(0, 0); });
  std::string text;
  for (std::size_t size = 0, count = 1; count > 0; size += count) {
    text.resize(size + step_bytes);
    count = source.read(std::span(text).subspan(size));
    text.resize(size + count);
  }
  return text;
}

/// Returns the total size of all inputs, or 0 if a pipe makes it unknown. Visits every input before
/// the work begins, which takes time if there are millions.
std::uint64_t total_input_bytes(const std::vector<std::string>& inputs, const ReadProgress& progress) {
  InputWalk walk(inputs);
  std::uint64_t total = 0;
  bool is_known = true;
  while (const auto input = walk.next()) {
    progress(0, 0);
    is_known = is_known && input->bytes.has_value();
    total += input->bytes.value_or(0);
  }
  return is_known ? total : 0;
}

/// Turns encoded chunks into documents that have ids. Ends each with EOS if requested.
class DocumentEnds {
 public:
  DocumentEnds(std::optional<std::uint32_t> eos, const DocumentSink& sink) : eos_(eos), sink_(sink) {}

  void append(const EncodedChunk& chunk) {
    for (const EncodedDocumentRange& part : chunk.parts) {
      const auto ids = std::span(chunk.ids).subspan(part.begin, part.end - part.begin);
      append({ids, part.chars, part.ends_document});
    }
  }

 private:
  void append(const DocumentTokens& tokens) {
    is_empty_ = is_empty_ && tokens.ids.empty();
    if (is_empty_) return;
    if (!tokens.ids.empty()) last_id_ = tokens.ids.back();
    sink_({tokens.ids, tokens.chars, tokens.ends_document && !eos_});
    if (tokens.ends_document && eos_) append_eos();
    is_empty_ = tokens.ends_document;
  }

  /// Appends EOS, which is a target if the token before it is one.
  void append_eos() {
    const std::uint32_t eos = *eos_ | (last_id_ & not_a_target);
    sink_({std::span(&eos, 1), 0, true});
  }

  std::optional<std::uint32_t> eos_;
  const DocumentSink& sink_;
  std::uint32_t last_id_ = 0;
  bool is_empty_ = true;  // the document in progress
};

class Encoding {
 public:
  Encoding(const EncodeOptions& options, const Tokenizer& tokenizer, const EncodeWork& work,
           const ReadProgress& progress)
      : options_(options),
        work_(work),
        progress_(progress),
        info_(tokenizer.info()),
        documents_(options.append_eos ? tokenizer.info().eos : std::nullopt, work.document),
        reader_(work.inputs, options.read, tokenizer, [this] { progress_(done_, work_.total_bytes); }),
        encoders_(tokenizer),
        pool_(options.threads - 1) {  // the caller's thread also works
    if (options.lines.turns) check_specials(*options.lines.turns, *tokenizer.encoder());
    if (options.read.notes) options.read.notes->slow_regex(tokenizer);
  }

  InputIssues run() {
    while (auto chunk = next_chunk()) {
      while (is_full(chunk->bytes.size())) finish_first();
      submit(*std::move(chunk));
    }
    while (!in_flight_.empty()) finish_first();
    return issues_;
  }

 private:
  struct InFlight {
    std::future<EncodedChunk> encoded;
    std::size_t bytes;
    std::uint64_t range;
  };

  std::optional<Chunk> next_chunk() {
    try {
      return reader_.next();
    } catch (const Error&) {
      while (!in_flight_.empty()) finish_first();  // an error in earlier chunks takes precedence
      throw;
    }
  }

  bool is_full(std::size_t bytes) const {
    const auto num_threads = static_cast<std::size_t>(options_.threads);
    return !in_flight_.empty() && (in_flight_bytes_ + bytes > num_threads * bytes_in_flight ||
                                   in_flight_.size() >= num_threads * chunks_in_flight);
  }

  void submit(Chunk&& chunk) {
    const std::size_t bytes = chunk.bytes.size();
    const std::uint64_t range = chunk.stream->range;
    auto task = [shared = std::make_shared<const Chunk>(std::move(chunk)), this] {
      const EncoderPool::Lease encoder(encoders_);
      return shared->stream->tokens ? encode_tokens(*shared, info_)
                                    : encode_chunk(*shared, *encoder, options_.lines);
    };
    in_flight_.push_back({pool_.submit(std::move(task)), bytes, range});
    in_flight_bytes_ += bytes;
  }

  void finish_first() {
    const EncodedChunk encoded = pool_.get(in_flight_.front().encoded);
    in_flight_bytes_ -= in_flight_.front().bytes;
    work_.chunk(in_flight_.front().range, encoded);
    in_flight_.pop_front();
    documents_.append(encoded);
    issues_ += encoded.issues;
    done_ += encoded.file_bytes;
    progress_(done_, work_.total_bytes);
  }

  const EncodeOptions& options_;
  const EncodeWork& work_;
  const ReadProgress& progress_;
  std::uint64_t done_ = 0;
  const TokenizerIdentity info_;
  InputIssues issues_;
  DocumentEnds documents_;
  ChunkReader reader_;
  std::deque<InFlight> in_flight_;  // in the order of reading
  std::size_t in_flight_bytes_ = 0;
  EncoderPool encoders_;
  TaskPool<EncodedChunk> pool_;
};

Error read_once_error(const std::string& name) {
  return Error(ErrorKind::input,
               name +
                   " is a pipe and cannot be read twice, but --train-bpe reads the input once to train and "
                   "once to encode",
               "give files, or first train the tokenizer on a part of the text (--save-tokenizer)");
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(const EncodeOptions& options) {
  return make_tokenizer(options.tokenizer, options.tokenizer_pattern, options.eos_token, options.append_eos);
}

std::vector<std::string> all_inputs(const EncodeOptions& options, const ReadProgress& progress) {
  std::vector<std::string> inputs = options.inputs;
  if (!options.input_list.empty()) {
    const std::string origin = options.input_list == "-" ? "standard input" : options.input_list;
    append_names(read_list(options.input_list, progress), origin, inputs);
  }
  if (options.read.format == InputFormat::megatron) check_indexes(inputs);
  return inputs;
}

InputIssues encode_inputs(const EncodeOptions& options, const Tokenizer& tokenizer, const EncodeWork& work,
                          const ReadProgress& progress) {
  return Encoding(options, tokenizer, work, progress).run();
}

InputIssues encode_inputs(const EncodeOptions& options, const Tokenizer& tokenizer, const DocumentSink& sink,
                          const ReadProgress& progress) {
  const std::vector<std::string> inputs = all_inputs(options, progress);
  return encode_inputs(options, tokenizer, {walk_of(inputs), total_input_bytes(inputs, progress), sink},
                       progress);
}

void check_readable_again(const EncodeOptions& options) {
  if (!options.input_list.empty() && !file_exists(options.input_list))
    throw read_once_error("--input-list " + options.input_list);
  InputWalk walk(all_inputs(options, [](auto...) {}));
  while (const auto input = walk.next()) {
    if (!input->bytes) throw read_once_error(input->is_stdin ? "standard input" : input->path.string());
  }
}

Error no_text_error(const EncodeOptions& options) {
  std::string names;
  for (const std::string& input : options.inputs) {
    if (names.size() > 200) {
      names += ", …";
      break;
    }
    names += (names.empty() ? "" : ", ") + (input == "-" ? "standard input" : input);
  }
  if (!options.input_list.empty())
    names += (names.empty() ? "" : ", ") + ("the inputs listed in " + options.input_list);
  return Error(ErrorKind::input, "no text in " + names,
               "give at least one file that is not empty, or a folder that contains one");
}

}  // namespace dt::data
