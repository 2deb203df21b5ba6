#include "data/input/content.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/text/utf8.hpp"
#include "data/input/input_options.hpp"
#include "data/input/token_file.hpp"

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

struct Table {
  const char* name;
  const char* module;   // pyarrow's module
  const char* batches;  // Python expression: the record batches of the file sys.argv[1]
};

Table table_of(Content content) {
  switch (content) {
    case Content::parquet:
      return {"a Parquet file", "pyarrow.parquet as p", "p.ParquetFile(sys.argv[1]).iter_batches()"};
    case Content::arrow_stream:
      return {"an Arrow stream", "pyarrow as p", "p.ipc.open_stream(open(sys.argv[1], \"rb\"))"};
    default:
      return {"an Arrow or Feather file", "pyarrow.feather as p", "p.read_table(sys.argv[1]).to_batches()"};
  }
}

/// Returns the text quoted for a POSIX shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char letter : text) out += letter == '\'' ? "'\\''" : std::string(1, letter);
  return out + "'";
}

struct UnreadFormat {
  std::string_view bytes;  // first bytes
  const char* name;
  const char* advice;
  bool could_begin_text = false;  // control characters then distinguish it from text
};

/// Returns whether the bytes contain control characters that text never contains.
bool has_controls(std::string_view bytes) {
  return std::ranges::any_of(bytes,
                             [](unsigned char c) { return c < 0x20 && (c < '\t' || c > '\r') && c != 0x1B; });
}

constexpr const char* unpack = "unpack it (7z x FILE) and give the folder";
constexpr const char* pickle = "convert it to JSON lines in Python, if you trust its source";
constexpr const char* extract = "extract its text first";
constexpr std::array unread_formats = {
    UnreadFormat{"7z\xBC\xAF\x27\x1C"sv, "a 7-Zip archive", unpack},
    UnreadFormat{"Rar!\x1A\x07"sv, "a RAR archive", unpack},
    UnreadFormat{"MSCF\0\0\0\0"sv, "a cabinet archive", unpack},
    UnreadFormat{"!<arch>\n"sv, "an ar archive or Debian package",
                 "unpack it (ar x FILE, or dpkg-deb -x FILE FOLDER) and give the folder"},
    UnreadFormat{"xar!\0"sv, "a xar archive", unpack},
    UnreadFormat{"LRZI\0"sv, "compressed by lrzip", "lrzip -dc FILE | dt-shard-data …"},
    UnreadFormat{"PK\7\x08PK"sv, "a zip archive in several parts",
                 "join them (zip -s 0 FILE --out WHOLE.zip)"},
    UnreadFormat{"\x1F\x9D"sv, "compressed by compress (.Z)", "gzip -dc FILE | dt-shard-data …"},
    UnreadFormat{"\x89LZO\0\r\n\x1A\n"sv, "compressed by lzop", "lzop -dc FILE | dt-shard-data …"},
    UnreadFormat{"\x02\x21\x4C\x18"sv, "in lz4's legacy format", "lz4 -dc FILE | dt-shard-data …"},
    UnreadFormat{"\xFF\6\0\0sNaPpY"sv, "compressed by Snappy", "decompress it first (snzip -dc)"},
    UnreadFormat{"WARC/1."sv, "a WARC file of web pages",
                 "extract its text first (warcio, trafilatura), or read it as plain text (--format text)"},
    UnreadFormat{"\x82SNAPPY\0"sv, "compressed by Snappy", "decompress it first (snzip -dc)"},
    UnreadFormat{"ORC"sv, "an ORC file",
                 "convert it to JSON lines (pyarrow.orc, or orc-contents FILE) and use --format jsonl", true},
    UnreadFormat{"PARE"sv, "an encrypted Parquet file", "decrypt it first", true},
    UnreadFormat{"SEQ\6"sv, "a Hadoop sequence file", "convert it to text (hadoop fs -text FILE)"},
    UnreadFormat{"PGDMP"sv, "a dump of PostgreSQL", "convert it to text (pg_restore -f - FILE)", true},
    UnreadFormat{"GGUF"sv, "a file of model weights", "dt-shard-data reads text", true},
    UnreadFormat{"\x80\2"sv, "a Python pickle", pickle},
    UnreadFormat{"\x80\3"sv, "a Python pickle", pickle},
    UnreadFormat{"\x80\4\x95"sv, "a Python pickle", pickle},
    UnreadFormat{"\x80\5\x95"sv, "a Python pickle", pickle},
    UnreadFormat{"Obj\1"sv, "an Avro file", "convert it to JSON lines (avro-tools tojson FILE)"},
    UnreadFormat{"SQLite format 3\0"sv, "an SQLite database", "convert it to JSON lines (sqlite3 -json)"},
    UnreadFormat{"\x89HDF\r\n\x1A\n"sv, "an HDF5 file",
                 "give token shards to dt-train directly; convert other HDF5 files to JSON lines"},
    UnreadFormat{"%PDF-"sv, "a PDF document", "extract its text first (pdftotext FILE -)"},
    UnreadFormat{"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "a Microsoft Office document", extract},
    UnreadFormat{"\x89PNG\r\n\x1A\n"sv, "an image", "dt-shard-data reads text"},
    UnreadFormat{"\xFF\xD8\xFF"sv, "an image", "dt-shard-data reads text"},
    UnreadFormat{"GIF89a"sv, "an image", "dt-shard-data reads text", true},
    UnreadFormat{"\x7F"
                 "ELF"sv,
                 "a program", "dt-shard-data reads text"},
};

/// Checks that `first` does not begin a format that is neither text nor supported.
/// Errors: input.
void check_is_read(std::string_view first, const std::string& name) {
  const auto* found = std::ranges::find_if(unread_formats, [&](const UnreadFormat& format) {
    return first.starts_with(format.bytes) && (!format.could_begin_text || has_controls(first));
  });
  if (found == unread_formats.end()) return;
  throw Error(ErrorKind::input, fmt::format("{} is {}, which dt does not read", name, found->name),
              found->advice);
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

void check_plain(std::string_view first, const std::string& name, const std::string& plain_name,
                 const InputOptions& options) {
  // Valid UTF-8 that the user calls text is read, whatever it begins with.
  const bool is_text =
      options.format == InputFormat::text && is_valid_utf8(first.substr(0, whole_characters(first)));
  if (!is_text) check_is_read(first, name);
  if (options.format == InputFormat::automatic) check_is_text(first, name, plain_name);
}

void check_is_no_document(const std::string& archive, const std::string& member, bool is_first) {
  const bool is_office = member == "[Content_Types].xml";
  if (!is_office && !(is_first && member == "mimetype")) return;
  throw Error(ErrorKind::input,
              fmt::format("{} is {} document, which dt does not read", archive,
                          is_office ? "an Office" : "an EPUB or OpenDocument"),
              extract);
}

Error unsupported_table_error(Content content, const std::string& name, bool is_file) {
  const Table table = table_of(content);
  return Error(
      ErrorKind::input, fmt::format("{} is {}, which dt does not read", name, table.name),
      // Python would search for modules in the working directory, where any user may have put one.
      fmt::format(
          "{}convert it to JSON lines with pyarrow: python3 -c 'import sys; \"\" in sys.path and "
          "sys.path.remove(\"\"); import json, {}; [print(json.dumps(r, default=str)) for b in {} for r "
          "in b.to_pylist()]' {} | dt-shard-data --format jsonl …",
          is_file ? "" : "extract the file, then ", table.module, table.batches,
          is_file ? quoted(name) : "FILE"));
}

}  // namespace dt::data
