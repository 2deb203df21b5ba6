// Bytes that are not quite UTF-8. The mended text is UTF-8, whatever the pieces in which it arrives; the
// first byte chooses the pieces.
#include "base/text/utf8.hpp"
#include "data/input/utf8_mender.hpp"
#include "fuzz/fuzz.hpp"

namespace {

using dt::data::InvalidUtf8;

struct Mended {
  std::string text;
  std::uint64_t count;
  bool operator==(const Mended&) const = default;
};

Mended mend(InvalidUtf8 invalid, std::string_view bytes, std::size_t piece_bytes) {
  dt::data::Utf8Mender mender(invalid);
  std::string text;
  for (; bytes.size() > piece_bytes; bytes.remove_prefix(piece_bytes)) {
    text += mender.mend(std::string(bytes.substr(0, piece_bytes)), false);
  }
  text += mender.mend(std::string(bytes), true);
  return {text, mender.take_count()};
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = dt_fuzz::text_of(bytes + 1, size - 1);
  for (const InvalidUtf8 invalid : {InvalidUtf8::replace, InvalidUtf8::skip}) {
    const Mended whole = mend(invalid, text, size);
    dt_fuzz::require(mend(invalid, text, 1 + bytes[0] % 8U) == whole, "pieces are mended as the whole");
    dt_fuzz::require(!dt::find_invalid_utf8(whole.text), "what is mended is UTF-8");
    const bool was_valid = !dt::find_invalid_utf8(text);
    dt_fuzz::require(was_valid == (whole.count == 0) && (!was_valid || whole.text == text),
                     "what is UTF-8 stays");
  }
  return 0;
}
