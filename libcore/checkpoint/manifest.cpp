#include "checkpoint/manifest.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/ranges.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/io/json.hpp"
#include "base/numeric/digest.hpp"
#include "base/text/utf8.hpp"
#include "checkpoint/digested_json.hpp"
#include "model/hf/hf_config.hpp"

namespace dt::checkpoint {

namespace {

using json = nlohmann::ordered_json;

constexpr DigestedJsonFormat format = {
    "dt-checkpoint", version_with_index,
    "the checkpoint is damaged: use another one ('dt-checkpoint list RUN' lists them)"};

/// Returns JSON text that is valid even if a path in it contains bytes that are not UTF-8.
std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json object_from_text(const std::string& text, const char* name) {
  if (text.empty()) return json::object();
  return parse_json_object(text, {fmt::format("the manifest's {}", name)});
}

json optimizer_json(const StoredOptimizer& optimizer) {
  json object{{"name", optimizer.name},
              {"state_kinds", kernels::kind_names(optimizer.state_kinds)},
              {"hyper_parameters", object_from_text(optimizer.hyper_parameters, "hyper_parameters")}};
  for (const kernels::StateKind& kind : optimizer.state_kinds) {
    if (kind.scope != kernels::ParameterScope::all) object["state_scopes"][kind.name] = name_of(kind.scope);
    if (kind.dtype) object["state_dtypes"][kind.name] = dtype_name(*kind.dtype);
    if (kind.shape != kernels::StateShape::parameter) object["state_shapes"][kind.name] = name_of(kind.shape);
  }
  return object;
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
          {"matmul", s.matmul},
          {"skipped_steps", s.skipped_steps},
          {"loss_scale", s.loss_scale},
          {"loss_scale_good_steps", s.loss_scale_good_steps},
          {"optimizer", optimizer_json(s.optimizer)},
          {"schedule", object_from_text(s.schedule, "schedule")},
          {"conditions", object_from_text(s.conditions, "conditions")}};
}

/// Calls set(kind, text, where) for the kinds of state that the object `name` has a text for. The object may
/// be absent.
template <class Set>
void for_property(const JsonValue& optimizer, const char* name, std::vector<kernels::StateKind>& kinds,
                  const Set& set) {
  if (!optimizer.has(name)) return;
  const JsonValue values = optimizer.object(name);
  for (kernels::StateKind& kind : kinds) {
    if (values.has(kind.name)) set(kind, values.string(kind.name), values.where());
  }
}

/// Returns the value of an enum in a manifest.
template <class E>
E parse_value(const std::string& text, const std::string& where) {
  const auto value = parse_name<E>(text);
  if (!value) throw input_error("{}: '{}' is none of {}", where, text, fmt::join(names_of<E>(), ", "));
  return *value;
}

/// Errors: input, a kind has a number for each row or column of what has none, or an average of the weights
/// is not as the weights are.
void check_kinds(const std::vector<kernels::StateKind>& kinds, const std::string& where) {
  using enum kernels::ParameterScope;
  for (const kernels::StateKind& kind : kinds) {
    if (kind.shape != kernels::StateShape::parameter && kind.scope != matrices &&
        kind.scope != block_matrices)
      throw input_error(
          "{}: state_shapes has {} for '{}', whose state_scopes is {}; expected matrices or "
          "block-matrices",
          where, name_of(kind.shape), kind.name, name_of(kind.scope));
    const bool is_of_weights = kind.name == kind_weights || kind.name == kernels::average_kind;
    if (is_of_weights && kind != kernels::StateKind(kind.name))
      throw input_error("{}: '{}' has a scope, shape or type of its own; expected those of the weights",
                        where, kind.name);
  }
}

/// Checkpoints from before there was a choice are AdamW's.
StoredOptimizer parse_optimizer(const JsonValue& state) {
  if (!state.has("optimizer")) return {"adamw", {kind_first_moment, kind_second_moment}, {}};
  const JsonValue o = state.object("optimizer");
  StoredOptimizer optimizer{o.string("name"), {}, o.object_text("hyper_parameters")};
  for (const JsonValue& kind : o.at("state_kinds").items()) optimizer.state_kinds.push_back(kind.string());
  using kernels::StateKind;
  for_property(o, "state_dtypes", optimizer.state_kinds,
               [](StateKind& kind, const std::string& text, const std::string& /*where*/) {
                 kind.dtype = parse_dtype(text);
               });
  for_property(o, "state_scopes", optimizer.state_kinds,
               [](StateKind& kind, const std::string& text, const std::string& where) {
                 kind.scope = parse_value<kernels::ParameterScope>(text, where);
               });
  for_property(o, "state_shapes", optimizer.state_kinds,
               [](StateKind& kind, const std::string& text, const std::string& where) {
                 kind.shape = parse_value<kernels::StateShape>(text, where);
               });
  check_kinds(optimizer.state_kinds, o.where());
  return optimizer;
}

TrainingState parse_state(const JsonValue& o) {
  constexpr std::int64_t most_count = std::int64_t{1} << 56;  // sums and differences of two do not overflow
  constexpr std::int64_t most_size = INT32_MAX;               // products of two do not overflow
  TrainingState s;
  s.step = o.integer("step", 0, most_count);
  s.samples_consumed = static_cast<std::uint64_t>(o.integer("samples_consumed", 0, most_count));
  s.tokens_consumed = static_cast<std::uint64_t>(o.integer("tokens_consumed", 0, most_count));
  s.data_digest = o.digest("data_digest");
  s.seed = o.unsigned_integer("seed");
  s.sequence_length = o.integer("sequence_length", 0, most_size);
  s.global_batch = o.integer("global_batch", 0, most_size);
  s.micro_batch = o.integer("micro_batch", 0, most_size);
  s.grad_lanes = o.integer("grad_lanes", 1, most_size);
  s.dataset_digest = o.digest("dataset_digest");
  s.precision = o.string("precision");
  if (o.has("matmul")) {  // the next four members are absent from checkpoints of dt without mixed precision
    s.matmul = o.string("matmul");
    s.skipped_steps = o.integer("skipped_steps", 0, s.step);
    s.loss_scale = o.number("loss_scale", 0, std::numeric_limits<float>::max());
    s.loss_scale_good_steps = o.integer("loss_scale_good_steps", 0, most_count);
  }
  s.optimizer = parse_optimizer(o);
  s.schedule = o.object_text("schedule");
  s.conditions = o.object_text("conditions");
  return s;
}

json stages_json(const model::StageUnits& stages) {
  struct Range {
    model::UnitRange units;
    std::size_t stage = 0;
  };
  std::vector<Range> ranges;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (const model::UnitRange& units : stages[stage]) ranges.push_back({units, stage});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.units.begin < b.units.begin; });
  json list = json::array();
  for (const Range& range : ranges)
    list.push_back({{"stage", range.stage}, {"begin", range.units.begin}, {"end", range.units.end}});
  return list;
}

model::StageUnits parse_stages(const JsonValue& mesh, int pp, int num_units) {
  model::StageUnits stages;
  std::int64_t next = 0;
  for (const JsonValue& range : mesh.objects("stages")) {
    const std::int64_t stage = range.integer("stage", 0, pp - 1), begin = range.integer("begin", next, next),
                       end = range.integer("end", next + 1, num_units);
    stages.resize(static_cast<std::size_t>(pp));
    stages[static_cast<std::size_t>(stage)].push_back({static_cast<int>(begin), static_cast<int>(end)});
    next = end;
  }
  if (!stages.empty() && next != num_units)
    throw input_error("{}: the stages hold {} units; the model has {}", mesh.where(), next, num_units);
  return stages;
}

/// Parses the layout of a model. Members that an older dt did not write keep
/// their defaults. Replaces a schedule that only a later dt knows by the default.
/// Errors: input, naming the member, if a table does not name each unit once, or the model's experts
/// cannot be divided so.
model::Layout parse_layout(const JsonValue& mesh, const model::ModelSpec& spec) {
  const int num_units = static_cast<int>(spec.layers) + 2;
  constexpr std::int64_t most_ranks = 1 << 20;
  const auto number = [&](const char* name, std::int64_t least, std::int64_t most) {
    return static_cast<int>(mesh.integer(name, least, most));
  };
  model::Layout layout{.pp = number("pp", 1, num_units),
                       .dp = number("dp", 1, most_ranks),
                       .tp = number("tp", 1, most_ranks),
                       .zero = number("zero", 0, 3)};
  if (mesh.has("cp")) layout.cp = number("cp", 1, most_ranks);
  if (mesh.has("ep")) layout.ep = number("ep", 1, most_ranks);
  std::int64_t ranks = 1;
  for (const int axis : {layout.pp, layout.dp, layout.cp, layout.tp}) {
    if (ranks *= axis; ranks > most_ranks)
      throw mesh.error(fmt::format("it has more than {} ranks", most_ranks));
  }
  if (const std::string why = model::expert_axis_error(layout, spec); !why.empty()) throw mesh.error(why);
  if (!mesh.has("schedule")) return layout;
  layout.zero_group = number("zero_group", 0, layout.data_ranks());
  layout.schedule =
      parse_name<model::PipelineScheduleKind>(mesh.string("schedule")).value_or(layout.schedule);
  layout.virtual_stages = number("virtual_stages", 1, num_units);
  layout.sequence_parallel = mesh.has("sp") && mesh.string("sp") == "on";
  layout.stages = parse_stages(mesh, layout.pp, num_units);
  return layout;
}

/// Returns whether to read the file into memory: a large one only if it ends as every manifest
/// does.
bool is_readable(const File& file) {
  constexpr std::uint64_t large = std::uint64_t{64} << 20;
  if (file.size() <= large) return true;
  std::string end(digest_tail_bytes, '\0');
  file.read_at(file.size() - end.size(), std::as_writable_bytes(std::span(end)));
  return ends_with_digest(end);
}

/// Returns whether the device reads a byte of any file in the folder, except those that `failure`
/// names.
bool is_another_readable(const fs::path& checkpoint, const std::string& failure) {
  for (const fs::path& path : entries_of(checkpoint)) {
    if (failure.find(path.filename().string()) != failure.npos) continue;
    try {
      std::byte byte{};
      if (file_exists(path) && File::open_read(path).read({&byte, 1}) == 1) return true;
    } catch (const Error&) {  // another file may be readable
    }
  }
  return false;
}

void check_length(const fs::path& path) {
  const File file = File::open_read(path);
  const std::uint64_t bytes = file.size();
  if (is_readable(file)) return;
  throw Error(ErrorKind::input,
              fmt::format("{} has {} bytes and does not end with a digest", path.string(), bytes),
              format.remedy);
}

/// Checks the folder's name against the manifest. A manifest moved to another checkpoint's folder
/// still matches its own digest.
void check_place(const Manifest& manifest, const fs::path& checkpoint) {
  const auto name = parse_checkpoint_name(checkpoint);
  if (!name || (name->step == manifest.state.step && name->generation == manifest.generation)) return;
  throw Error(ErrorKind::input,
              fmt::format("{} belongs to step {}, generation {}", (checkpoint / manifest_name).string(),
                          manifest.state.step, manifest.generation),
              "expected the step and the generation in the folder's name");
}

}  // namespace

kernels::StateKind StoredOptimizer::find_kind(const std::string& name) const {
  const auto found = std::ranges::find(state_kinds, name, &kernels::StateKind::name);
  return found == state_kinds.end() ? kernels::StateKind(name) : *found;
}

bool StoredOptimizer::has_kind(const std::string& name) const {
  return std::ranges::count(state_kinds, name, &kernels::StateKind::name) > 0;
}

std::string to_json(const model::Layout& layout) {
  json mesh{{"pp", layout.pp},
            {"dp", layout.dp},
            {"tp", layout.tp},
            {"zero", layout.zero},
            {"zero_group", layout.zero_group},
            {"schedule", name_of(layout.schedule)},
            {"virtual_stages", layout.virtual_stages},
            {"stages", stages_json(layout.stages)}};
  if (layout.sequence_parallel) mesh["sp"] = "on";
  if (layout.cp > 1) mesh["cp"] = layout.cp;
  if (layout.ep > 1) mesh["ep"] = layout.ep;
  return mesh.dump();
}

std::string to_json(const TrainingState& state) {
  return dump(state_json(state));
}

std::string to_json(const Manifest& m) {
  DigestedJsonWriter text(format, m.version());
  text.text("dt_version", m.dt_version);
  text.text("created", m.created);
  text.integer("generation", m.generation);
  text.text("parent", escape_invalid_utf8(m.parent));
  text.json("state", to_json(m.state));
  text.json("model", dump(object_from_text(model::hf_config(m.model), "model")));
  text.json("mesh", to_json(m.mesh));
  if (!m.index) return text.finish(m.files, m.pieces);
  DT_CHECK(m.pieces.empty(), "a manifest that has a piece index also lists {} pieces", m.pieces.size());
  return text.finish(m.files, *m.index);
}

Manifest parse_manifest(const std::string& text, const std::string& origin) {
  const JsonValue root = parse_digested_json(text, origin, format);
  Manifest m;
  m.dt_version = root.string("dt_version");
  m.created = root.string("created");
  m.generation = root.integer("generation", 0, INT64_MAX - 1);
  m.parent = unescape_bytes(root.string("parent"));
  m.state = parse_state(root.object("state"));
  m.model = model::parse_hf_config(root.object_text("model"), origin);
  m.mesh = parse_layout(root.object("mesh"), m.model);
  if (root.integer("version") == version_with_list) {
    parse_files_and_pieces(root, format, m.files, m.pieces);
  } else {
    m.index = parse_files_and_index(root, m.files);
  }
  return m;
}

bool is_removed(const fs::path& checkpoint) {
  std::error_code error;
  return fs::symlink_status(checkpoint, error).type() == fs::file_type::not_found;
}

Error removed_error(const fs::path& checkpoint) {
  return Error(ErrorKind::input, fmt::format("{} was removed while it was being read", checkpoint.string()),
               "a running job prunes old checkpoints (--keep-last): use a newer one ('dt-checkpoint latest "
               "RUN' prints it)");
}

Manifest load_manifest(const fs::path& checkpoint) {
  const fs::path path = checkpoint / manifest_name;
  if (!path_exists(path)) {
    const bool is_run = folder_exists(checkpoint / "checkpoints");
    const std::string name = checkpoint.string();
    if (is_run) {
      throw Error(
          ErrorKind::input, fmt::format("{} is a run directory, not a checkpoint", name),
          fmt::format("give one of its checkpoints; 'dt-checkpoint latest {}' prints the newest", name));
    }
    if (!path_exists(checkpoint)) throw Error(ErrorKind::input, fmt::format("{} does not exist", name));
    throw Error(ErrorKind::input,
                fmt::format("{} is not a checkpoint: it contains no {}", name, manifest_name),
                "give a folder such as RUN/checkpoints/step-00001000.g1");
  }
  std::string text;
  try {
    check_length(path);
    text = read_file(path);
  } catch (const Error& error) {
    if (is_removed(checkpoint)) throw removed_error(checkpoint);
    throw classify_read_error(error, checkpoint);
  }
  Manifest manifest = parse_manifest(text, path.string());
  check_place(manifest, checkpoint);
  return manifest;
}

Error classify_read_error(const Error& error, const fs::path& checkpoint) {
  if (error.error_number() != EIO || !is_another_readable(checkpoint, error.what())) return error;
  return {ErrorKind::input, error.what(), "other files in its folder can be read, so dt treats it as damaged",
          error.error_number()};
}

bool is_manifest_intact(const fs::path& checkpoint) {
  const fs::path path = checkpoint / manifest_name;
  try {
    return file_exists(path) && is_readable(File::open_read(path)) && has_valid_digest(read_file(path));
  } catch (const Error& error) {
    if (error.error_number() == EIO) return false;  // load_manifest() reports the cause
    throw;
  }
}

}  // namespace dt::checkpoint
