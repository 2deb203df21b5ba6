#include "data/input/content.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace dt::data {

namespace {

using namespace std::string_view_literals;

struct Magic {
  Content content;
  std::string_view bytes;
  std::size_t offset = 0;
};

// None of them begins text but tar's, which follows a name of up to 100 bytes padded with NUL.
constexpr std::array magics = {
    Magic{Content::gzip, "\x1F\x8B\x08"sv},
    Magic{Content::zstd, "\x28\xB5\x2F\xFD"sv},
    Magic{Content::xz,
          "\xFD"
          "7zXZ\0"sv},
    Magic{Content::tar, "ustar"sv, 257},
    Magic{Content::parquet, "PAR1"sv},
    Magic{Content::arrow_file, "ARROW1\0\0"sv},
    Magic{Content::arrow_stream, "\xFF\xFF\xFF\xFF"sv},
    Magic{Content::feather_v1, "FEA1"sv},
};

}  // namespace

Content content_of(std::string_view first) {
  const auto* found = std::find_if(magics.begin(), magics.end(), [&](const Magic& magic) {
    return first.size() >= magic.offset && first.substr(magic.offset).starts_with(magic.bytes);
  });
  return found == magics.end() ? Content::plain : found->content;
}

}  // namespace dt::data
