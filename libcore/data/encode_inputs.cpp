#include "data/encode_inputs.hpp"

#include <deque>
#include <future>
#include <memory>
#include <utility>

#include "data/encoder_pool.hpp"
#include "data/task_pool.hpp"

namespace dt::data {

namespace {

/// For each thread: enough to keep it busy while the writer waits for another one.
constexpr std::size_t bytes_in_flight = std::size_t{4} << 20;
constexpr std::size_t chunks_in_flight = 64;

/// Looks at every input before the work begins. 0 where a pipe keeps the total unknown.
std::uint64_t total_input_bytes(const MakeOptions& options) {
  InputWalk walk(options.inputs, options.read.format);
  std::uint64_t total = 0;
  bool is_known = true;
  while (const auto input = walk.next()) {
    is_known = is_known && input->bytes.has_value();
    total += input->bytes.value_or(0);
  }
  return is_known ? total : 0;
}

}  // namespace

void encode_inputs(const MakeOptions& options, const Tokenizer& tokenizer,
                   const std::function<void(const EncodedChunk&)>& take,
                   const std::function<void(std::uint64_t done, std::uint64_t total)>& report) {
  const std::uint64_t total = total_input_bytes(options);
  std::uint64_t done = 0;
  ChunkReader reader(options.inputs, options.read, tokenizer, [&] { report(done, total); });
  const auto num_threads = static_cast<std::size_t>(options.threads);
  std::deque<std::pair<std::future<EncodedChunk>, std::size_t>> in_flight;
  std::size_t in_flight_bytes = 0;
  EncoderPool encoders(tokenizer);
  TaskPool<EncodedChunk> pool(options.threads - 1);  // and this one

  const auto finish_first = [&] {
    const EncodedChunk encoded = pool.get(in_flight.front().first);
    in_flight_bytes -= in_flight.front().second;
    in_flight.pop_front();
    take(encoded);
    done += encoded.input_bytes;
    report(done, total);
  };
  while (auto chunk = reader.next()) {
    const std::size_t bytes = chunk->bytes.size();
    while (!in_flight.empty() && (in_flight_bytes + bytes > num_threads * bytes_in_flight ||
                                  in_flight.size() >= num_threads * chunks_in_flight)) {
      finish_first();
    }
    in_flight.emplace_back(
        pool.submit([shared = std::make_shared<const Chunk>(*std::move(chunk)), &encoders, &options] {
          const EncoderPool::Loan encoder(encoders);
          return encode_chunk(*shared, *encoder, options.text_key);
        }),
        bytes);
    in_flight_bytes += bytes;
  }
  while (!in_flight.empty()) finish_first();
}

void check_readable_again(const MakeOptions& options) {
  InputWalk walk(options.inputs, options.read.format);
  while (const auto input = walk.next()) {
    if (input->bytes) continue;
    const std::string name = input->is_stdin ? "standard input" : input->path.string();
    throw Error(ErrorKind::input, name + " cannot be read twice, to train a tokenizer and to encode",
                "give files, or train on a part of the text first (--save-tokenizer)");
  }
}

Error no_text_error(const std::vector<std::string>& inputs) {
  std::string names;
  for (const std::string& input : inputs) {
    if (names.size() > 200) {
      names += ", …";
      break;
    }
    names += (names.empty() ? "" : ", ") + (input == "-" ? "standard input" : input);
  }
  return Error(ErrorKind::input, "no text in " + names,
               "give files that are not empty, or folders that hold some");
}

}  // namespace dt::data
