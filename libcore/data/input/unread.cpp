#include "data/input/unread.hpp"

#include <algorithm>
#include <array>

#include "base/text/utf8.hpp"
#include "data/input/token_head.hpp"

namespace dt::data {

namespace {

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

using namespace std::string_view_literals;

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

constexpr const char* unpack = "unpack it (7z x FILE), and give the folder";
constexpr const char* pickle = "make JSON lines of it, in Python, where you trust who made it";
constexpr const char* extract = "extract its text first";
constexpr std::array unread_formats = {
    UnreadFormat{"7z\xBC\xAF\x27\x1C"sv, "a 7-Zip archive", unpack},
    UnreadFormat{"Rar!\x1A\x07"sv, "a RAR archive", unpack},
    UnreadFormat{"MSCF\0\0\0\0"sv, "a cabinet archive", unpack},
    UnreadFormat{"!<arch>\n"sv, "an ar archive or Debian package",
                 "unpack it (ar x FILE, dpkg-deb -x FILE FOLDER), and give the folder"},
    UnreadFormat{"xar!\0"sv, "a xar archive", unpack},
    UnreadFormat{"LRZI\0"sv, "compressed by lrzip", "lrzip -dc FILE | dt-shard-data …"},
    UnreadFormat{"PK\7\x08PK"sv, "a zip archive in several parts",
                 "join them (zip -s 0 FILE --out WHOLE.zip)"},
    UnreadFormat{"\x1F\x9D"sv, "compressed by compress (.Z)", "gzip -dc FILE | dt-shard-data …"},
    UnreadFormat{"\x89LZO\0\r\n\x1A\n"sv, "compressed by lzop", "lzop -dc FILE | dt-shard-data …"},
    UnreadFormat{"\x02\x21\x4C\x18"sv, "of lz4's legacy format", "lz4 -dc FILE | dt-shard-data …"},
    UnreadFormat{"\xFF\6\0\0sNaPpY"sv, "compressed by Snappy", "decompress it first (snzip -dc)"},
    UnreadFormat{"WARC/1."sv, "a WARC file of web pages",
                 "extract its text first (warcio, trafilatura), or read it as plain text (--format text)"},
    UnreadFormat{"\x82SNAPPY\0"sv, "compressed by Snappy", "decompress it first (snzip -dc)"},
    UnreadFormat{"ORC"sv, "an ORC file",
                 "make JSON lines of it (pyarrow.orc, or orc-contents FILE), and give --format jsonl", true},
    UnreadFormat{"PARE"sv, "an encrypted Parquet file", "decrypt it first", true},
    UnreadFormat{"SEQ\6"sv, "a Hadoop sequence file", "make text of it (hadoop fs -text FILE)"},
    UnreadFormat{"PGDMP"sv, "a dump of PostgreSQL", "make text of it (pg_restore -f - FILE)", true},
    UnreadFormat{"GGUF"sv, "a model's weights", "dt-shard-data takes text", true},
    UnreadFormat{"\x80\2"sv, "a Python pickle", pickle},
    UnreadFormat{"\x80\3"sv, "a Python pickle", pickle},
    UnreadFormat{"\x80\4\x95"sv, "a Python pickle", pickle},
    UnreadFormat{"\x80\5\x95"sv, "a Python pickle", pickle},
    UnreadFormat{"Obj\1"sv, "an Avro file", "make JSON lines of it (avro-tools tojson FILE)"},
    UnreadFormat{"SQLite format 3\0"sv, "an SQLite database", "make JSON lines of it (sqlite3 -json)"},
    UnreadFormat{"\x89HDF\r\n\x1A\n"sv, "an HDF5 file",
                 "dt-train reads token shards themselves; make JSON lines of others"},
    UnreadFormat{"%PDF-"sv, "a PDF document", "extract its text first (pdftotext FILE -)"},
    UnreadFormat{"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "a Microsoft Office document", extract},
    UnreadFormat{"\x89PNG\r\n\x1A\n"sv, "an image", "dt-shard-data takes text"},
    UnreadFormat{"\xFF\xD8\xFF"sv, "an image", "dt-shard-data takes text"},
    UnreadFormat{"GIF89a"sv, "an image", "dt-shard-data takes text", true},
    UnreadFormat{"\x7F"
                 "ELF"sv,
                 "a program", "dt-shard-data takes text"},
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
          "{}pyarrow makes JSON lines of it: python3 -c 'import sys; \"\" in sys.path and "
          "sys.path.remove(\"\"); import json, {}; [print(json.dumps(r, default=str)) for b in {} for r "
          "in b.to_pylist()]' {} | dt-shard-data --format jsonl …",
          is_file ? "" : "as a file of its own, ", table.module, table.batches,
          is_file ? quoted(name) : "FILE"));
}

}  // namespace dt::data
