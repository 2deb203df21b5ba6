#include "checkpoint/reshard.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "checkpoint/compare.hpp"
#include "cmd/dt-checkpoint/options.hpp"
#include "model/parameter_scope.hpp"
#include "model/parameter_table.hpp"
#include "parallel/schedule/pipeline.hpp"
#include "parallel/state/local_table.hpp"
#include "parallel/state/state_layout.hpp"
#include "run/exclusion_records.hpp"

namespace dt::checkpoint_tool {

namespace {

using checkpoint::Manifest;
using checkpoint::PieceSpec;
using checkpoint::StoredTensor;
using model::Layout;

/// Divides units into stages with about the same number of blocks each, in the order in which the
/// schedule assigns them to ranks.
model::StageUnits lay_units(const Layout& layout, const model::ModelSpec& spec) {
  const int num_units = static_cast<int>(spec.layers) + 2, num_stages = layout.pp * layout.virtual_stages;
  if (num_stages == 1) return {};
  const model::StageUnits even = model::even_stages(num_units, num_stages);
  return parallel::stage_units_of(parallel::stages_from_counts(model::stage_counts(even), num_units),
                                  parallel::schedule_of(layout, 1));
}

/// Parses a layout such as "tp=2,pp=2".
Layout parse_layout(const std::string& text) {
  constexpr std::int64_t most_ranks = 1 << 16;
  constexpr std::array keys = {"pp", "schedule", "virtual-stages", "dp",        "cp", "ep",
                               "tp", "sp",       "zero",           "zero-group"};
  const model::LayoutText given(text, "--layout " + (text.empty() ? "''" : text), keys);
  if (given.empty()) throw given.error("the layout is empty", "for example --layout tp=2,pp=2,dp=1,zero=1");
  Layout layout;
  given.read("pp", 1, most_ranks, layout.pp);
  given.read("virtual-stages", 1, most_ranks, layout.virtual_stages);
  given.read("dp", 1, most_ranks, layout.dp);
  given.read("tp", 1, most_ranks, layout.tp);
  given.read("cp", 1, most_ranks, layout.cp);
  given.read("ep", 1, most_ranks, layout.ep);
  given.read("sp", layout.sequence_parallel);
  if (layout.sequence_parallel && layout.tp == 1) throw given.error("sp=on without tp", "add tp=2 or more");
  given.read("zero", 0, 3, layout.zero);
  if (!given.has("zero-group") || given.value("zero-group") != "all")
    given.read("zero-group", 1, most_ranks, layout.zero_group);
  given.read("schedule", layout.schedule);
  if (std::int64_t{layout.pp} * layout.dp * layout.cp * layout.tp > most_ranks)
    throw given.error("too many ranks", fmt::format("expected at most {}", most_ranks));
  return layout;
}

/// The contents of a checkpoint: the kinds of state, in order, and the type of each tensor.
struct Contents {
  std::vector<kernels::StateKind> kinds;
  std::map<std::pair<std::string, std::string>, DType> dtypes;  // by kind and tensor

  Contents(const checkpoint::Reader& source, const model::ParameterTable& table) {
    std::set<std::string> names;
    for (const model::ParamSpec& param : table.params()) names.insert(param.name);
    for (const StoredTensor& p : source.pieces().tensors()) {
      if (!names.contains(p.tensor)) {
        throw Error(ErrorKind::input,
                    fmt::format("{}: {} of {} is not a parameter of the checkpoint's model",
                                source.path().string(), p.kind, p.tensor),
                    "reshard can divide only the model's parameters");
      }
      if (std::ranges::find(kinds, p.kind, &kernels::StateKind::name) == kinds.end())
        kinds.push_back(source.manifest().state.optimizer.find_kind(p.kind));
      dtypes.try_emplace({p.kind, p.tensor}, p.dtype);
    }
    for (const kernels::StateKind& kind : kinds) {
      for (int index = 0; index < static_cast<int>(table.params().size()); ++index) {
        const model::ParamSpec& param = table.params()[static_cast<std::size_t>(index)];
        if (dtypes.contains({kind.name, param.name}) || !model::is_in_scope(table, index, kind.scope))
          continue;
        throw Error(ErrorKind::input,
                    fmt::format("{}: {} of {} is missing", source.path().string(), kind.name, param.name),
                    "expected the complete state of the model");
      }
    }
  }
};

/// Returns the pieces that a rank of the mesh writes.
std::vector<PieceSpec> pieces_of(const Contents& contents, const model::ParameterTable& table,
                                 const Layout& layout, int rank) {
  std::vector<std::size_t> kind_bytes;
  for (const kernels::StateKind& kind : contents.kinds) {
    auto any = contents.dtypes.find({kind.name, table.params().front().name});
    if (any == contents.dtypes.end()) any = contents.dtypes.lower_bound({kind.name, ""});
    kind_bytes.push_back(dtype_bytes(any->second));
  }
  std::vector<PieceSpec> pieces;
  const parallel::LocalTable local(table, layout, layout.coordinates_of(rank));
  const auto held = [&](const parallel::LocalParam& param, std::size_t kind) {
    return parallel::state_piece(local, param, contents.kinds[kind]);
  };
  for (const parallel::OwnedPiece& own : parallel::owned_pieces(local, kind_bytes, held)) {
    const std::string& kind = contents.kinds[static_cast<std::size_t>(own.kind)].name;
    const std::string& tensor = local.name(own.param);
    pieces.push_back({tensor, kind, own.piece, contents.dtypes.at({kind, tensor})});
  }
  return pieces;
}

void report(const Manifest& source, const checkpoint::ReshardOptions& how, std::uint64_t bytes,
            Console& console) {
  const checkpoint::Reader written(how.out);
  const Manifest& result = written.manifest();
  console.info("wrote {}: step {}, {} → {}, {} in {}", how.out.string(), result.state.step,
               source.mesh.to_string(), result.mesh.to_string(), format_bytes(bytes),
               pluralize(result.files.size(), "file"));
  if (!console.json()) return;
  const nlohmann::ordered_json object = {{"path", escape_invalid_utf8(how.out.native())},
                                         {"step", result.state.step},
                                         {"generation", result.generation},
                                         {"layout", result.mesh.to_string()},
                                         {"files", result.files.size()},
                                         {"pieces", written.pieces().num_pieces()},
                                         {"bytes", bytes}};
  console.write_text(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace

int reshard(const Options& options, const StopSignals& signals, Console& console) {
  const std::string& source_path = options.arguments.at(1);
  const std::string& out = options.arguments.at(2);
  Layout layout = parse_layout(options.layout.value());
  restore_replaced(out);  // may restore the source's name
  const checkpoint::Reader source(source_path);
  const model::ModelSpec& spec = source.manifest().model;
  if (const std::string why = parallel::layout_error(layout, spec); !why.empty())
    throw usage_error("--layout {}: {}", options.layout.value(), why);
  layout.stages = lay_units(layout, spec);
  const model::ParameterTable table(spec);
  const Contents contents(source, table);
  const checkpoint::ReshardOptions how{
      .out = out,
      .overwrite = options.overwrite,
      .mesh = layout,
      .num_writers = layout.size(),
      .pieces = [&](int rank) { return pieces_of(contents, table, layout, rank); }};
  const std::uint64_t bytes = checkpoint::stored_bytes(source.pieces());
  {
    Progress progress = console.progress("resharding", bytes, "B");
    checkpoint::reshard(source, how, [&](std::uint64_t count) {
      signals.check();
      progress.advance(count);
    });
  }
  if (options.overwrite) run::clear_failed_loads(out);  // records about the replaced checkpoint
  report(source.manifest(), how, bytes, console);
  return 0;
}

}  // namespace dt::checkpoint_tool
