#pragma once
// Encodes inputs as token ids, document by document.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/build/chunk_encoder.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

struct EncodeOptions {
  std::vector<std::string> inputs;  // files, folders, patterns, "-"
  std::string input_list;           // a file with more names, one a line; "": none; "-": standard input
  ReadOptions read;
  LineOptions lines;
  std::string tokenizer = "bytes";  // "bytes" or a file
  std::string tokenizer_pattern;    // for tiktoken's ranks
  std::string eos_token;            // "" means the file's own
  bool append_eos = true;
  int threads = 1;
};

std::unique_ptr<Tokenizer> make_tokenizer(const EncodeOptions& options);

/// Consecutive tokens of a document.
struct DocumentTokens {
  std::span<const std::uint32_t> ids;
  std::uint64_t chars = 0;  // Unicode characters that the ids encode, or no_chars
  bool ends_document = false;
};

/// Receives documents, each in one call or several. Documents without ids are left out.
using DocumentSink = std::function<void(const DocumentTokens& tokens)>;
/// Receives the range (see InputRanges) and the findings of a chunk of the inputs, before the
/// documents that begin or continue in it.
using ChunkSink = std::function<void(std::uint64_t range, const EncodedChunk& chunk)>;

/// Receives the number of bytes read from files. `total` is 0 if unknown. It may throw to stop the
/// work. It is also called a few times a second while a pipe has nothing to read.
using ReadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Returns the inputs that `options` name, including those of a list in a file or on standard
/// input.
/// Errors: input.
std::vector<std::string> all_inputs(const EncodeOptions& options, const ReadProgress& progress);

struct EncodeWork {
  NextInput inputs;
  std::uint64_t total_bytes = 0;  // total of the inputs; 0: unknown
  DocumentSink document;
  ChunkSink chunk = [](std::uint64_t, const EncodedChunk&) {};
};

/// Reads on the caller's thread, encodes on `options.threads` threads including the caller's, and
/// calls `sink` on the caller's thread in the order of the inputs. Neither the calls of `sink`, nor
/// the skipped issues, nor the first error depend on `threads`.
/// Errors: input for unreadable or malformed inputs, naming file and line; as `sink` and
/// `progress`.
InputIssues encode_inputs(const EncodeOptions& options, const Tokenizer& tokenizer, const DocumentSink& sink,
                          const ReadProgress& progress);

/// The same for the inputs of `work`.
InputIssues encode_inputs(const EncodeOptions& options, const Tokenizer& tokenizer, const EncodeWork& work,
                          const ReadProgress& progress);

/// Checks that all inputs can be read twice.
/// Errors: input if one is a pipe.
void check_readable_again(const EncodeOptions& options);

/// Returns the error for inputs without any text.
Error no_text_error(const EncodeOptions& options);

}  // namespace dt::data
