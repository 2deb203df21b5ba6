#include "data/input/unread.hpp"

#include <algorithm>
#include <array>

namespace dt::data {

namespace {

struct Table {
  const char* name;
  const char* module;   // of pyarrow
  const char* batches;  // Python: the record batches of the file sys.argv[1]
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

/// For a POSIX shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char letter : text) out += letter == '\'' ? "'\\''" : std::string(1, letter);
  return out + "'";
}

using namespace std::string_view_literals;

struct UnreadFormat {
  std::string_view bytes;  // that begin it
  const char* name;
  const char* advice;
};

constexpr const char* unpack = "unpack it (7z x FILE), and give the folder";
constexpr const char* extract = "extract its text first";
constexpr std::array unread_formats = {
    UnreadFormat{"7z\xBC\xAF\x27\x1C"sv, "a 7-Zip archive", unpack},
    UnreadFormat{"Rar!\x1A\x07"sv, "a RAR archive", unpack},
    UnreadFormat{"MSCF\0\0\0\0"sv, "a cabinet archive", unpack},
    UnreadFormat{"PK\7\x08PK"sv, "a zip archive in several parts",
                 "join them (zip -s 0 FILE --out WHOLE.zip)"},
    UnreadFormat{"\x1F\x9D"sv, "compressed by compress (.Z)", "gzip -dc FILE | dt-shard-data …"},
    UnreadFormat{"\x89LZO\0\r\n\x1A\n"sv, "compressed by lzop", "lzop -dc FILE | dt-shard-data …"},
    UnreadFormat{"\x02\x21\x4C\x18"sv, "of lz4's legacy format", "lz4 -dc FILE | dt-shard-data …"},
    UnreadFormat{"\xFF\6\0\0sNaPpY"sv, "compressed by Snappy", "decompress it first (snzip -dc)"},
    UnreadFormat{"WARC/1."sv, "a WARC file of web pages",
                 "extract its text first (warcio, trafilatura), or read it as plain text (--format text)"},
    UnreadFormat{"Obj\1"sv, "an Avro file", "make JSON lines of it (avro-tools tojson FILE)"},
    UnreadFormat{"SQLite format 3\0"sv, "an SQLite database", "make JSON lines of it (sqlite3 -json)"},
    UnreadFormat{"\x89HDF\r\n\x1A\n"sv, "an HDF5 file",
                 "dt-train reads token shards themselves; make JSON lines of others"},
    UnreadFormat{"%PDF-"sv, "a PDF document", "extract its text first (pdftotext FILE -)"},
    UnreadFormat{"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "a Microsoft Office document", extract},
    UnreadFormat{"\x89PNG\r\n\x1A\n"sv, "an image", "dt-shard-data takes text"},
    UnreadFormat{"\xFF\xD8\xFF"sv, "an image", "dt-shard-data takes text"},
};

}  // namespace

void check_is_read(std::string_view first, const std::string& name) {
  const auto* found = std::ranges::find_if(
      unread_formats, [&](const UnreadFormat& format) { return first.starts_with(format.bytes); });
  if (found == unread_formats.end()) return;
  throw Error(ErrorKind::input, fmt::format("{} is {}, which dt does not read", name, found->name),
              found->advice);
}

void check_is_no_document(const std::string& archive, const std::string& member, bool is_first) {
  const bool is_office = member == "[Content_Types].xml";
  if (!is_office && !(is_first && member == "mimetype")) return;
  throw Error(ErrorKind::input,
              fmt::format("{} is {} document, which dt does not read", archive,
                          is_office ? "an Office" : "an EPUB or OpenDocument"),
              extract);
}

Error table_error(Content content, const std::string& name, bool is_file) {
  const Table table = table_of(content);
  return Error(
      ErrorKind::input, fmt::format("{} is {}, which dt does not read", name, table.name),
      fmt::format("{}pyarrow makes JSON lines of it: python3 -c 'import json, sys, {}; [print(json.dumps(r, "
                  "default=str)) for b in {} for r in b.to_pylist()]' {} | dt-shard-data --format jsonl …",
                  is_file ? "" : "as a file of its own, ", table.module, table.batches,
                  is_file ? quoted(name) : "FILE"));
}

}  // namespace dt::data
