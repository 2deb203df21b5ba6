#include "data/input/content.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace dt::data {

namespace {

using namespace std::string_view_literals;

struct Magic {
  Content content;
  std::string_view bytes;
  std::size_t offset = 0;
};

// Text begins with none of these, except tar's, which follows a name of up to 100 bytes padded with
// NUL.
constexpr std::array magics = {
    Magic{Content::gzip, "\x1F\x8B\x08"sv},
    Magic{Content::zstd, "\x28\xB5\x2F\xFD"sv},
    Magic{Content::xz,
          "\xFD"
          "7zXZ\0"sv},
    Magic{Content::lzip, "LZIP\1"sv},
    Magic{Content::lz4, "\x04\x22\x4D\x18"sv},
    Magic{Content::tar, "ustar"sv, 257},
    Magic{Content::zip, "PK\3\4"sv},
    Magic{Content::zip, "PK\5\6"sv},  // an archive without files
    Magic{Content::parquet, "PAR1"sv},
    Magic{Content::arrow_file, "ARROW1\0\0"sv},
    Magic{Content::arrow_stream, "\xFF\xFF\xFF\xFF"sv},
    Magic{Content::feather_v1, "FEA1"sv},
};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

/// Returns whether the bytes are bzip2: "BZh1" to "BZh9", and the magic of a block or of the
/// stream's end. Text could begin with the former alone.
bool is_bzip2(std::string_view first) {
  return first.size() >= 10 && first.starts_with("BZh") && first[3] >= '1' && first[3] <= '9' &&
         (first.substr(4, 6) == "\x31\x41\x59\x26\x53\x59" ||
          first.substr(4, 6) == "\x17\x72\x45\x38\x50\x90");
}

/// Returns whether the bytes are .lzma, which has no magic. It begins with a byte of properties,
/// then the dictionary's size, which is 2^n or 2^n + 2^(n-1). The content's size follows, which may
/// be unknown.
/// Source: liblzma's lzma_alone_decoder, which rejects all else.
bool is_lzma(std::string_view first) {
  constexpr unsigned max_properties = (4 * 5 + 4) * 9 + 8;
  constexpr std::uint64_t max_size = std::uint64_t{1} << 38;
  if (first.size() < 14 || static_cast<unsigned char>(first[0]) > max_properties) return false;
  const std::uint64_t dictionary = little_endian(first.substr(1, 4));
  const std::uint64_t size = little_endian(first.substr(5, 8));
  const int bits = std::popcount(dictionary);
  const bool is_size = bits == 1 || (bits == 2 && std::has_single_bit(dictionary / 3));
  return dictionary >= 4096 && is_size && (size == ~std::uint64_t{0} || size < max_size) && first[13] == 0;
}

/// Returns whether the bytes are binary cpio: two bytes of magic, 12 numbers of two bytes, then a
/// name that ends in NUL. Text could begin like that. So the function checks the magic, a file
/// type, the name's length and its end, as libarchive does.
/// Source: cpio(5).
bool is_binary_cpio(std::string_view first) {
  constexpr std::size_t header = 26, mode_at = 6, name_bytes_at = 20, max_name_bytes = 4096;
  if (first.size() < header || !first.starts_with("\xC7\x71")) return false;
  const std::uint64_t type = little_endian(first.substr(mode_at, 2)) & 0170000U;
  const std::uint64_t name_bytes = little_endian(first.substr(name_bytes_at, 2));
  if (name_bytes < 1 || name_bytes > max_name_bytes) return false;
  constexpr std::array types = {0010000U, 0020000U, 0040000U, 0060000U, 0100000U, 0120000U, 0140000U};
  const bool is_type = std::ranges::find(types, type) != types.end();
  if (!is_type && !first.substr(header).starts_with("TRAILER!!!")) return false;
  // The name extends beyond the bytes at hand. Text contains no NUL at all.
  if (header + name_bytes > first.size()) return first.substr(0, header).find('\0') != first.npos;
  return first[header + name_bytes - 1] == '\0';
}

/// Returns whether the bytes are cpio: "070701" or "070702" and 13 numbers of 8 hexadecimal digits,
/// "070707" and 70 octal digits, or binary cpio.
/// Source: cpio(5).
bool is_cpio(std::string_view first) {
  constexpr std::size_t magic = 6, new_header = 110, old_header = 76;
  const auto has_digits = [&](std::size_t header, std::string_view digits) {
    return first.size() >= header &&
           first.substr(magic, header - magic).find_first_not_of(digits) == first.npos;
  };
  if (first.starts_with("070701") || first.starts_with("070702"))
    return has_digits(new_header, "0123456789abcdefABCDEF");
  if (first.starts_with("070707")) return has_digits(old_header, "01234567");
  return is_binary_cpio(first);
}

/// Returns whether the bytes begin a frame that zstd and lz4 skip: a magic and the size of
/// arbitrary content.
bool is_skippable(std::string_view first) {
  return first.size() >= 8 && (static_cast<unsigned char>(first[0]) & 0xF0U) == 0x50 &&
         first.substr(1, 3) == "\x2A\x4D\x18";
}

}  // namespace

Content content_of(std::string_view first) {
  if (is_skippable(first)) {
    const std::uint64_t size = 8 + little_endian(first.substr(4, 4));
    // zstd's writers begin with such frames (pzstd, seekable formats); lz4's do not.
    if (size >= first.size()) return Content::zstd;
    const Content next = content_of(first.substr(size));
    return next == Content::lz4 ? next : Content::zstd;
  }
  if (is_bzip2(first)) return Content::bzip2;
  if (is_cpio(first)) return Content::cpio;
  const auto* found = std::find_if(magics.begin(), magics.end(), [&](const Magic& magic) {
    return first.size() >= magic.offset && first.substr(magic.offset).starts_with(magic.bytes);
  });
  if (found != magics.end()) return found->content;
  return is_lzma(first) ? Content::lzma : Content::plain;
}

}  // namespace dt::data
