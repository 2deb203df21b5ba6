#pragma once
// All text of the inputs, encoded by several threads.

#include <functional>

#include "base/error.hpp"
#include "data/chunk_encoder.hpp"
#include "data/make_dataset.hpp"

namespace dt::data {

/// Reads on this thread, encodes on `threads`, this one among them, and hands chunks to `take` on this one,
/// in the order of reading. `report` is told of `done` bytes of `total`, 0 where a pipe keeps it unknown;
/// what it throws ends the work.
void encode_inputs(const MakeOptions& options, const Tokenizer& tokenizer,
                   const std::function<void(const EncodedChunk&)>& take,
                   const std::function<void(std::uint64_t done, std::uint64_t total)>& report);

/// Error{input}: an input is a pipe, which is read once.
void check_readable_again(const MakeOptions& options);

/// What there is to say where nothing was read.
Error no_text_error(const std::vector<std::string>& inputs);

}  // namespace dt::data
