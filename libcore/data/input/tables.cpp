#include "data/input/tables.hpp"

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

}  // namespace

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
