#include "data/build/spool_file.hpp"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "base/text/utf8.hpp"

namespace dt::data {

namespace {

using Json = nlohmann::json;

struct Trailer {
  std::uint64_t json_bytes;
  std::uint64_t json_digest;
};

std::string to_json(const RangeSummary& summary, const std::vector<SpoolSegment>& segments) {
  Json list = Json::array();
  for (const SpoolSegment& segment : segments) list.push_back({segment.index_offset, segment.documents});
  const Json json = {{"documents", summary.documents},
                     {"tokens", summary.tokens},
                     {"has_targets", summary.has_targets},
                     {"invalid_sequences", summary.issues.invalid_sequences},
                     {"bad_lines", summary.issues.bad_lines},
                     {"first_bad_line", escape_invalid_utf8(summary.issues.first_bad_line)},
                     {"too_short", summary.filtered.too_short},
                     {"too_long", summary.filtered.too_long},
                     {"learned_roles", summary.roles.learned},
                     {"other_roles", summary.roles.others},
                     {"segments", list}};
  return json.dump();
}

RangeSummary summary_of(const Json& json) {
  return {json.at("documents"),
          json.at("tokens"),
          json.at("has_targets"),
          {json.at("invalid_sequences"), json.at("bad_lines"),
           unescape_bytes(json.at("first_bad_line").get<std::string>())},
          {json.at("too_short"), json.at("too_long"), 0},
          {json.at("learned_roles"), json.at("other_roles")}};
}

/// Returns the text between the segments and the trailer.
std::string read_json(const File& file) {
  const auto damaged = [&] {
    return Error(ErrorKind::input, fmt::format("{} is damaged", file.path().string()),
                 "start again without --resume");
  };
  const std::uint64_t size = file.size();
  Trailer trailer{};
  if (size < sizeof trailer) throw damaged();
  file.read_at(size - sizeof trailer, std::as_writable_bytes(std::span(&trailer, 1)));
  if (trailer.json_bytes > size - sizeof trailer) throw damaged();
  std::string text(trailer.json_bytes, '\0');
  file.read_at(size - sizeof trailer - text.size(), std::as_writable_bytes(std::span(text)));
  if (digest(text) != trailer.json_digest) throw damaged();
  return text;
}

/// Returns `path` if its folder exists: a spool that is gone must not be made again.
const fs::path& in_a_folder(const fs::path& path) {
  if (!folder_exists(path.parent_path())) throw system_error(ENOENT, "create", path.string());
  return path;
}

}  // namespace

fs::path spool_file_path(const fs::path& folder, std::uint64_t range) {
  return folder / fmt::format("range-{:05}.spool", range);
}

SpoolFile::SpoolFile(const fs::path& path) try : file_(std::make_shared<const File>(File::open_read(path))) {
  const Json json = parse_json(read_json(*file_), {path.string()});
  summary_ = summary_of(json);
  for (const Json& segment : json.at("segments")) segments_.push_back({segment.at(0), segment.at(1)});
} catch (const Json::exception&) {
  throw Error(ErrorKind::input, fmt::format("{} was written by another version of dt", path.string()),
              "start again without --resume, or use the dt version that wrote it");
}

std::vector<SpoolEntry> SpoolFile::entries(const SpoolSegment& segment, std::uint64_t first,
                                           std::uint64_t count) const {
  std::vector<SpoolEntry> entries(count);
  file_->read_at(segment.index_offset + first * sizeof(SpoolEntry),
                 std::as_writable_bytes(std::span(entries)));
  return entries;
}

SpoolFileWriter::SpoolFileWriter(const fs::path& path) : atomic_(in_a_folder(path)), file_(atomic_.open()) {}

void SpoolFileWriter::write_tokens(std::span<const std::byte> tokens) {
  file_.write(tokens);
  bytes_ += tokens.size();
}

void SpoolFileWriter::write_entries(std::span<const SpoolEntry> entries) {
  segments_.push_back({bytes_, entries.size()});
  write_tokens(std::as_bytes(entries));
}

void SpoolFileWriter::finish(const RangeSummary& summary) {
  const std::string json = to_json(summary, segments_);
  const Trailer trailer{json.size(), digest(json)};
  file_.write(json);
  file_.write(std::as_bytes(std::span(&trailer, 1)));
  file_.close();
  atomic_.commit_new();  // if another task was first, its file has the same content
}

}  // namespace dt::data
