#include "checkpoint/manifest.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "checkpoint/json_reader.hpp"

namespace dt::checkpoint {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* format_name = "dt-checkpoint";
constexpr const char* remedy_damaged = "the checkpoint is damaged: use another (dt-checkpoint list RUN)";

/// A path in a file name may hold bytes that are no UTF-8; a manifest is valid JSON all the same.
std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json object_from_text(const std::string& text, const char* name) {
  json object = text.empty() ? json::object() : json::parse(text, nullptr, false);
  DT_CHECK(object.is_object(), "the manifest's {} must be a JSON object, not '{}'", name, text);
  return object;
}

json hex_array(const std::vector<std::uint64_t>& digests) {
  json array = json::array();
  for (const std::uint64_t value : digests) array.push_back(to_hex(value));
  return array;
}

json state_json(const TrainingState& s) {
  return {{"step", s.step},
          {"samples_consumed", s.samples_consumed},
          {"tokens_consumed", s.tokens_consumed},
          {"data_digest", to_hex(s.data_digest)},
          {"seed", s.seed},
          {"sequence_length", s.sequence_length},
          {"global_batch", s.global_batch},
          {"micro_batch", s.micro_batch},
          {"grad_lanes", s.grad_lanes},
          {"dataset_digest", to_hex(s.dataset_digest)},
          {"precision", s.precision},
          {"schedule", object_from_text(s.schedule, "schedule")},
          {"conditions", object_from_text(s.conditions, "conditions")}};
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

/// The last bytes of a manifest, fixed by all that come before them.
std::string tail(std::string_view before) {
  return fmt::format("\"digest\": \"{}\"\n}}\n", to_hex(digest(before)));
}

bool digest_holds(std::string_view text) {
  const std::size_t tail_bytes = tail("").size();
  if (text.size() < tail_bytes) return false;
  const std::string_view before = text.substr(0, text.size() - tail_bytes);
  return text.substr(before.size()) == tail(before);
}

void check_version(const JsonObject& root, const std::string& origin) {
  const std::string format = root.string("format");
  if (format != format_name) {
    throw Error(ErrorKind::input, fmt::format("{} has the format '{}'", origin, format),
                fmt::format("expected '{}'", format_name));
  }
  const std::int64_t version = root.integer("version");
  if (version != format_version) {
    throw Error(ErrorKind::input, fmt::format("{} has version {} of the checkpoint format", origin, version),
                fmt::format("this dt reads version {}: use the dt that wrote it", format_version));
  }
}

TrainingState parse_state(const JsonObject& o) {
  TrainingState s;
  s.step = o.integer("step");
  s.samples_consumed = o.natural("samples_consumed");
  s.tokens_consumed = o.natural("tokens_consumed");
  s.data_digest = o.digest("data_digest");
  s.seed = o.natural("seed");
  s.sequence_length = o.integer("sequence_length");
  s.global_batch = o.integer("global_batch");
  s.micro_batch = o.integer("micro_batch");
  s.grad_lanes = o.integer("grad_lanes");
  s.dataset_digest = o.digest("dataset_digest");
  s.precision = o.string("precision");
  s.schedule = o.object_text("schedule");
  s.conditions = o.object_text("conditions");
  return s;
}

/// Files lie in the checkpoint's own folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

StoredFile parse_file(const JsonObject& o) {
  StoredFile f{o.string("name"), o.natural("bytes"), o.digest("metadata_digest")};
  if (!is_plain_name(f.name)) {
    throw Error(ErrorKind::input, fmt::format("{}: '{}' is not a file's name", o.where(), f.name),
                remedy_damaged);
  }
  return f;
}

StoredPiece parse_piece(const JsonObject& o) {
  StoredPiece p;
  p.tensor = o.string("tensor");
  p.kind = o.string("kind");
  p.dtype = parse_dtype(o.string("dtype"));
  p.piece.global = Shape(o.integers("global"));
  p.piece.start = o.integers("start");
  p.piece.box = Shape(o.integers("box"));
  p.piece.begin = o.integer("begin");
  p.piece.end = o.integer("end");
  p.file = o.string("file");
  p.dataset = o.string("dataset");
  p.digests = o.digests("digests");
  p.offset = o.natural("offset");
  p.piece.validate();
  return p;
}

/// What no manifest that dt wrote violates; readers compute with it without further checks.
void check_piece(const StoredPiece& p, const std::map<std::string, std::uint64_t>& file_bytes) {
  const auto file = file_bytes.find(p.file);
  if (file == file_bytes.end()) throw input_error("its file '{}' is not among 'files'", p.file);
  const std::uint64_t limit = file->second;
  if (static_cast<std::uint64_t>(p.piece.numel()) > limit || p.offset > limit ||
      p.bytes() > limit - p.offset) {
    throw input_error("it lies beyond the end of its file '{}'", p.file);
  }
  const std::uint64_t blocks = (p.bytes() + digest_block_bytes - 1) / digest_block_bytes;
  if (p.digests.size() != blocks)
    throw input_error("it has {} digests, expected {}", p.digests.size(), blocks);
}

void parse_pieces(const JsonObject& root, Manifest& manifest) {
  std::map<std::string, std::uint64_t> file_bytes;
  for (const JsonObject& o : root.objects("files")) {
    manifest.files.push_back(parse_file(o));
    file_bytes[manifest.files.back().name] = manifest.files.back().bytes;
  }
  for (const JsonObject& o : root.objects("pieces")) {
    try {
      manifest.pieces.push_back(parse_piece(o));
      check_piece(manifest.pieces.back(), file_bytes);
    } catch (const Error& error) {
      if (std::string_view(error.what()).starts_with(root.where())) throw;
      throw Error(ErrorKind::input, fmt::format("{}: {}", o.where(), error.message()), remedy_damaged);
    }
  }
}

}  // namespace

std::string Mesh::to_string() const {
  return fmt::format("pp={},dp={},tp={},zero={}", pp, dp, tp, zero);
}

std::string to_json(const TrainingState& state) {
  return dump(state_json(state));
}

std::string to_json(const Manifest& m) {
  const json mesh = {{"pp", m.mesh.pp}, {"dp", m.mesh.dp}, {"tp", m.mesh.tp}, {"zero", m.mesh.zero}};
  std::string text = "{\n";
  const auto member = [&text](const char* name, const std::string& value) {
    text += fmt::format("\"{}\": {},\n", name, value);
  };
  member("format", dump(format_name));
  member("version", dump(format_version));
  member("dt_version", dump(m.dt_version));
  member("created", dump(m.created));
  member("generation", dump(m.generation));
  member("parent", dump(m.parent));
  member("state", to_json(m.state));
  member("model", dump(object_from_text(model::hf_config(m.model), "model")));
  member("mesh", dump(mesh));
  member("files", lines(m.files, file_json));
  member("pieces", lines(m.pieces, piece_json));
  return text + tail(text);
}

Manifest parse_manifest(const std::string& text, const std::string& origin) {
  const JsonObject root = JsonObject::parse(text, origin, remedy_damaged);
  check_version(root, origin);
  if (!digest_holds(text)) {
    throw Error(ErrorKind::input,
                fmt::format("{} does not have the digest that its last line states", origin), remedy_damaged);
  }
  Manifest m;
  m.dt_version = root.string("dt_version");
  m.created = root.string("created");
  m.generation = root.integer("generation");
  m.parent = root.string("parent");
  m.state = parse_state(root.object("state"));
  m.model = model::parse_hf_config(root.object_text("model"), origin);
  const JsonObject mesh = root.object("mesh");
  m.mesh = {mesh.integer("pp"), mesh.integer("dp"), mesh.integer("tp"), mesh.integer("zero")};
  parse_pieces(root, m);
  return m;
}

Manifest load_manifest(const fs::path& checkpoint) {
  const fs::path path = checkpoint / manifest_name;
  std::error_code error;
  if (!fs::exists(path, error)) {
    const bool is_run = fs::is_directory(checkpoint / "checkpoints", error);
    const std::string name = checkpoint.string();
    if (is_run) {
      throw Error(
          ErrorKind::input, fmt::format("{} is a run directory, not a checkpoint", name),
          fmt::format("name one of its checkpoints; 'dt-checkpoint latest {}' prints the newest", name));
    }
    if (!fs::exists(checkpoint, error)) throw Error(ErrorKind::input, fmt::format("{} does not exist", name));
    throw Error(ErrorKind::input, fmt::format("{} is not a checkpoint: it holds no {}", name, manifest_name),
                "expected a folder such as RUN/checkpoints/step-00001000.g1");
  }
  return parse_manifest(read_file(path), path.string());
}

}  // namespace dt::checkpoint
