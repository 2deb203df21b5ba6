#include "comm/streams/library.hpp"

namespace dt::comm {

namespace {
StreamLibrary* the_library = nullptr;
}  // namespace

StreamLibrary* stream_library() {
  return the_library;
}

void set_stream_library(StreamLibrary* library) {
  the_library = library;
}

}  // namespace dt::comm
