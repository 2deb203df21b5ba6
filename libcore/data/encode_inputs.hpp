#pragma once
// Inputs as token ids, document after document.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/chunk_encoder.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

struct EncodeOptions {
  std::vector<std::string> inputs;  // files, folders, patterns, "-"
  std::string input_list;  // a file that names more of them, one a line; "": none; "-": standard input
  ReadOptions read;
  LineOptions lines;
  std::string tokenizer = "bytes";  // or a file
  std::string tokenizer_pattern;    // of tiktoken's ranks
  std::string eos_token;            // "": the file's
  bool append_eos = true;
  int threads = 1;
};

std::unique_ptr<Tokenizer> make_tokenizer(const EncodeOptions& options);

/// Of a document.
struct DocumentPart {
  std::span<const std::uint32_t> ids;
  std::uint64_t chars = 0;  // Unicode characters that the ids are of, or no_chars
  bool ends_document = false;
};

/// Takes a part of a document. Documents without ids are left out.
using DocumentSink = std::function<void(const DocumentPart& part)>;
/// Told, before the documents that begin or go on in a chunk of the inputs, of which range it is (see
/// InputRanges), and what was found in it.
using ChunkSink = std::function<void(std::uint64_t range, const EncodedChunk& chunk)>;

/// Told how many bytes of the files were read; `total` is 0 where it is unknown. It may throw to stop the
/// work; it is also called a few times a second while a pipe has nothing to read.
using ReadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// What `options` names, read from standard input or a file where that holds a list. Errors: input.
std::vector<std::string> all_inputs(const EncodeOptions& options, const ReadProgress& progress);

struct EncodeWork {
  NextInput inputs;
  std::uint64_t total_bytes = 0;  // of them; 0: unknown
  DocumentSink document;
  ChunkSink chunk = [](std::uint64_t, const EncodedChunk&) {};
};

/// Reads on the caller's thread, encodes on `options.threads`, that one among them, and hands what comes out
/// to `sink` on the caller's, in the order of the inputs. What `sink` is given does not depend on `threads`,
/// nor do the flaws that were passed over, nor the first error. Errors: input (unreadable or malformed
/// inputs, naming file and line); what `sink` and `progress` throw.
Flaws encode_inputs(const EncodeOptions& options, const Tokenizer& tokenizer, const DocumentSink& sink,
                    const ReadProgress& progress);

/// The same for some inputs.
Flaws encode_inputs(const EncodeOptions& options, const Tokenizer& tokenizer, const EncodeWork& work,
                    const ReadProgress& progress);

/// Error{input}: an input is a pipe, which is read once.
void check_readable_again(const EncodeOptions& options);

/// What there is to say where nothing was read.
Error no_text_error(const EncodeOptions& options);

}  // namespace dt::data
