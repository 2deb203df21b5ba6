#pragma once
// Adds a file's name to errors in reading it.

#include <string>

#include "base/error.hpp"

namespace dt::tokenizer {

/// Returns what `read` returns. Puts "origin: " before its input errors that do not name `origin`,
/// since code that builds a part of a tokenizer does not know the file.
template <class Read>
auto naming_origin(const std::string& origin, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    const std::string what = error.what();
    if (error.kind() != ErrorKind::input || what.find(origin) != what.npos) throw;
    throw Error(error.kind(), origin + ": " + what, error.context(), error.error_number());
  }
}

}  // namespace dt::tokenizer
