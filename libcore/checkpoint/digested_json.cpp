#include "checkpoint/digested_json.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <unordered_map>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"
#include "base/numeric/integer.hpp"

namespace dt::checkpoint {

namespace {

using json = nlohmann::ordered_json;

/// Returns JSON text that is valid even if a path in it contains bytes that are not UTF-8.
std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json hex_array(const std::vector<std::uint64_t>& digests) {
  json array = json::array();
  for (const std::uint64_t value : digests) array.push_back(to_hex(value));
  return array;
}

json file_json(const StoredFile& f) {
  return {{"name", f.name}, {"bytes", f.bytes}, {"metadata_digest", to_hex(f.metadata_digest)}};
}

json piece_json(const StoredPiece& p) {
  return {{"tensor", p.tensor},
          {"kind", p.kind},
          {"dtype", dtype_name(p.dtype)},
          {"global", p.piece.global.dims()},
          {"start", p.piece.start},
          {"box", p.piece.box.dims()},
          {"begin", p.piece.begin},
          {"end", p.piece.end},
          {"file", p.file},
          {"dataset", p.dataset},
          {"offset", p.offset},
          {"digests", hex_array(p.digests)}};
}

template <class T, class ToJson>
std::string lines(const std::vector<T>& items, ToJson item_json) {
  std::string text;
  for (const T& item : items) text += (text.empty() ? "\n" : ",\n") + dump(item_json(item));
  return "[" + text + "\n]";
}

/// Returns the last bytes of the text, which hold the digest of all bytes before.
std::string tail(std::string_view before) {
  return fmt::format("\"digest\": \"{}\"\n}}\n", to_hex(digest(before)));
}

void check_version(const JsonValue& root, const std::string& origin, const DigestedJsonFormat& expected) {
  const std::string format = root.string("format");
  if (format != expected.name) {
    throw Error(ErrorKind::input, fmt::format("{} has the format '{}'", origin, format),
                fmt::format("expected '{}'", expected.name));
  }
  const std::int64_t version = root.integer("version");
  if (version >= 1 && version <= expected.newest_version) return;
  throw Error(ErrorKind::input, fmt::format("{} has version {} of the checkpoint format", origin, version),
              fmt::format("this dt reads {}; use the dt release that wrote the checkpoint",
                          expected.newest_version == 1 ? "version 1" : "versions 1 and 2"));
}

std::uint64_t byte_count(const JsonValue& o, const char* name) {
  return static_cast<std::uint64_t>(o.integer(name, 0, std::int64_t{max_stored_bytes}));
}

StoredFile parse_file(const JsonValue& o) {
  StoredFile f{o.string("name"), byte_count(o, "bytes"), o.digest("metadata_digest")};
  if (!is_plain_file_name(f.name)) throw o.error(fmt::format("'{}' is not a plain file name", f.name));
  return f;
}

Shape parse_shape(const JsonValue& o, const char* name) {
  Shape shape(o.integers(name));
  if (!is_tensor_shape(shape.dims())) throw o.at(name).error("it is not a valid tensor shape");
  return shape;
}

StoredPiece parse_piece(const JsonValue& o) {
  StoredPiece p;
  p.tensor = o.string("tensor");
  p.kind = o.string("kind");
  p.dtype = parse_dtype(o.string("dtype"));
  p.piece.global = parse_shape(o, "global");
  p.piece.start = o.integers("start");
  p.piece.box = parse_shape(o, "box");
  p.piece.begin = o.integer("begin");
  p.piece.end = o.integer("end");
  p.file = o.string("file");
  p.dataset = o.string("dataset");
  p.digests = o.digests("digests");
  p.offset = byte_count(o, "offset");
  p.piece.validate();
  return p;
}

using FileBytes = std::map<std::string, std::uint64_t>;

/// Checks the properties that every text written by dt has. Readers rely on them without further
/// checks.
void check_piece(const StoredPiece& p, const FileBytes& file_bytes) {
  const auto file = file_bytes.find(p.file);
  if (file == file_bytes.end()) throw input_error("its file '{}' is not listed in 'files'", p.file);
  const std::uint64_t limit = file->second;
  if (static_cast<std::uint64_t>(p.piece.numel()) > limit || p.offset > limit ||
      p.bytes() > limit - p.offset) {
    throw input_error("it extends beyond the end of its file '{}'", p.file);
  }
  const std::uint64_t blocks = ceil_div(p.bytes(), digest_block_bytes);
  if (p.digests.size() != blocks)
    throw input_error("it has {} digests, expected {}", p.digests.size(), blocks);
}

/// Checks that no byte belongs to two pieces. Reading and digesting therefore handle no more bytes
/// than the files have.
void check_disjoint(std::span<const StoredPiece> pieces, const JsonValue& root) {
  std::vector<const StoredPiece*> order;
  for (const StoredPiece& piece : pieces) {
    if (piece.bytes() > 0) order.push_back(&piece);
  }
  const auto before = [](const StoredPiece* a, const StoredPiece* b) {
    return a->offset != b->offset ? a->offset < b->offset : a->file < b->file;
  };
  std::sort(order.begin(), order.end(), before);
  std::unordered_map<std::string_view, const StoredPiece*> last;  // latest piece of each file
  for (const StoredPiece* piece : order) {
    const StoredPiece*& previous = last[piece->file];
    if (previous != nullptr && previous->offset + previous->bytes() > piece->offset) {
      throw root.at("pieces").error(fmt::format("'{}' of {} and '{}' of {} share bytes of '{}'",
                                                previous->kind, previous->tensor, piece->kind, piece->tensor,
                                                piece->file));
    }
    previous = piece;
  }
}

}  // namespace

DigestedJsonWriter::DigestedJsonWriter(const DigestedJsonFormat& format, std::int64_t version) {
  text("format", format.name);
  integer("version", version);
}

void DigestedJsonWriter::text(const char* name, const std::string& value) {
  json(name, dump(value));
}

void DigestedJsonWriter::integer(const char* name, std::int64_t value) {
  json(name, std::to_string(value));
}

void DigestedJsonWriter::json(const char* name, const std::string& json) {
  text_ += fmt::format("\"{}\": {},\n", name, json);
}

std::string DigestedJsonWriter::finish(const std::vector<StoredFile>& files,
                                       const std::vector<StoredPiece>& pieces) {
  json("files", lines(files, file_json));
  json("pieces", lines(pieces, piece_json));
  return finish();
}

std::string DigestedJsonWriter::finish(const std::vector<StoredFile>& files, const StoredFile& index) {
  json("files", lines(files, file_json));
  json("pieces",
       dump({{"file", index.name}, {"bytes", index.bytes}, {"digest", to_hex(index.metadata_digest)}}));
  return finish();
}

std::string DigestedJsonWriter::finish() {
  return text_ + tail(text_);
}

bool has_valid_digest(std::string_view text) {
  const std::size_t tail_bytes = tail("").size();
  if (text.size() < tail_bytes) return false;
  const std::string_view before = text.substr(0, text.size() - tail_bytes);
  return text.substr(before.size()) == tail(before);
}

bool ends_with_digest(std::string_view text) {
  const std::string any = tail("");
  if (text.size() < any.size()) return false;
  const std::string_view end = text.substr(text.size() - any.size());
  const std::size_t begin = any.find(": \"") + 3;
  return end.substr(0, begin) == any.substr(0, begin) && end.substr(begin + 16) == any.substr(begin + 16);
}

JsonValue parse_digested_json(std::string_view text, const std::string& origin,
                              const DigestedJsonFormat& format) {
  JsonValue root = JsonValue::parse_object(text, {origin, format.remedy});
  check_version(root, origin, format);
  if (!has_valid_digest(text)) {
    throw Error(ErrorKind::input, fmt::format("{} does not match the digest in its last line", origin),
                format.remedy);
  }
  return root;
}

namespace {

/// Parses the member `files`. Returns the size of each.
FileBytes parse_files(const JsonValue& root, std::vector<StoredFile>& files) {
  FileBytes file_bytes;
  for (const JsonValue& o : root.objects("files")) {
    files.push_back(parse_file(o));
    if (!file_bytes.emplace(files.back().name, files.back().bytes).second)
      throw o.error(fmt::format("'{}' is listed twice", files.back().name));
  }
  return file_bytes;
}

}  // namespace

void parse_files_and_pieces(const JsonValue& root, const DigestedJsonFormat& format,
                            std::vector<StoredFile>& files, std::vector<StoredPiece>& pieces) {
  const std::size_t first_piece = pieces.size();
  const FileBytes file_bytes = parse_files(root, files);
  for (const JsonValue& o : root.objects("pieces")) {
    try {
      pieces.push_back(parse_piece(o));
      check_piece(pieces.back(), file_bytes);
    } catch (const Error& error) {
      if (std::string_view(error.what()).starts_with(root.where())) throw;
      throw Error(ErrorKind::input, fmt::format("{}: {}", o.where(), error.message()), format.remedy);
    }
  }
  check_disjoint(std::span(pieces).subspan(first_piece), root);
}

StoredFile parse_files_and_index(const JsonValue& root, std::vector<StoredFile>& files) {
  const FileBytes file_bytes = parse_files(root, files);
  const JsonValue o = root.object("pieces");
  StoredFile index{o.string("file"), byte_count(o, "bytes"), o.digest("digest")};
  if (!is_plain_file_name(index.name))
    throw o.error(fmt::format("'{}' is not a plain file name", index.name));
  if (file_bytes.contains(index.name))
    throw o.error(fmt::format("'{}' is also listed in 'files'", index.name));
  return index;
}

bool is_tensor_shape(std::span<const std::int64_t> extents) {
  std::int64_t numel = 1;
  const auto fits = [&](std::int64_t extent) {
    return extent >= 0 && !__builtin_mul_overflow(numel, std::max<std::int64_t>(extent, 1), &numel);
  };
  return extents.size() <= max_tensor_dims && std::ranges::all_of(extents, fits);
}

}  // namespace dt::checkpoint
