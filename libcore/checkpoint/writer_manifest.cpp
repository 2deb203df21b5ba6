#include "checkpoint/writer_manifest.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "checkpoint/digested_json.hpp"

namespace dt::checkpoint {

namespace {

constexpr DigestedJsonFormat writer_manifest_format = {"dt-checkpoint-part", 1,
                                                       "the files of this writer are damaged"};

}  // namespace

std::string piece_file_name(int writer) {
  return fmt::format("rank-{:05}.h5", writer);
}

std::string writer_manifest_name(int writer) {
  return fmt::format("part-{:05}.json", writer);
}

std::string to_json(const WriterManifest& manifest) {
  DigestedJsonWriter text(writer_manifest_format, writer_manifest_format.newest_version);
  text.integer("step", manifest.step);
  text.integer("generation", manifest.generation);
  text.integer("writer", manifest.writer);
  return text.finish(manifest.files, manifest.pieces);
}

WriterManifest parse_writer_manifest(const std::string& text, const std::string& origin) {
  const JsonValue root = parse_digested_json(text, origin, writer_manifest_format);
  WriterManifest manifest;
  manifest.step = root.integer("step", 0, INT64_MAX - 1);
  manifest.generation = root.integer("generation", 0, INT64_MAX - 1);
  manifest.writer = root.integer("writer", 0, INT32_MAX);
  parse_files_and_pieces(root, writer_manifest_format, manifest.files, manifest.pieces);
  return manifest;
}

WriterManifest load_writer_manifest(const fs::path& folder, std::int64_t step, std::int64_t generation,
                                    int writer) {
  const fs::path path = folder / writer_manifest_name(writer);
  WriterManifest manifest = parse_writer_manifest(read_file(path), path.string());
  if (manifest.step == step && manifest.generation == generation && manifest.writer == writer)
    return manifest;
  throw input_error(
      "{} belongs to step {}, generation {}, writer {}; expected step {}, generation {}, writer {}",
      path.string(), manifest.step, manifest.generation, manifest.writer, step, generation, writer);
}

}  // namespace dt::checkpoint
