#pragma once
// Distinguishes JSON lines from text by content.

#include <string>

#include "data/input/byte_source.hpp"
#include "data/input/input_options.hpp"

namespace dt::data {

/// Returns whether a stream of text is JSON lines. --format decides, then the name (.jsonl,
/// .ndjson), then the first line that is not blank. An object with the text key means JSON lines,
/// and `options.notes` receives a note. Content that does not look like JSON, and is not named
/// .json, is text. `name` is for messages; `plain_name` is the name without the suffix of a
/// compression.
/// Errors: input, naming --format, for other JSON: an array, one object over several lines, an
/// object without the key.
bool is_json_lines(PeekedSource& source, const std::string& name, const std::string& plain_name,
                   const InputOptions& options);
/// The same for a file of which a part is requested.
bool is_json_lines(InputFile file, const InputOptions& options);

}  // namespace dt::data
