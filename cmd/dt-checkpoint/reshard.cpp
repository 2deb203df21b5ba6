#include "checkpoint/reshard.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "checkpoint/compare.hpp"
#include "cmd/dt-checkpoint/run.hpp"
#include "model/parameter_table.hpp"
#include "parallel/mesh.hpp"

namespace dt::checkpoint_tool {

namespace {

using checkpoint::Manifest;
using checkpoint::PieceSpec;
using checkpoint::StoredPiece;
using parallel::Mesh;

struct LayoutKey {
  const char* name;
  int Mesh::*value;
  std::int64_t least;
  std::int64_t most;
};

constexpr std::int64_t most_ranks = 1 << 16;
constexpr std::array<LayoutKey, 5> layout_keys = {{{"pp", &Mesh::pp, 1, most_ranks},
                                                   {"dp", &Mesh::dp, 1, most_ranks},
                                                   {"tp", &Mesh::tp, 1, most_ranks},
                                                   {"zero", &Mesh::zero, 0, 3},
                                                   {"zero-group", &Mesh::zero_group, 1, most_ranks}}};

Error bad_layout(const std::string& layout, const std::string& what, const std::string& remedy) {
  return Error(ErrorKind::usage, fmt::format("--layout {}: {}", layout, what), remedy);
}

void read_item(Mesh& mesh, std::set<std::string>& given, const std::string& layout, const std::string& item) {
  const std::size_t equals = item.find('=');
  const std::string name(trim(item.substr(0, equals)));
  const auto key = std::find_if(layout_keys.begin(), layout_keys.end(),
                                [&](const LayoutKey& k) { return name == k.name; });
  if (equals == std::string::npos || key == layout_keys.end()) {
    throw bad_layout(layout, fmt::format("'{}' is not a layout's", item),
                     "a layout has pp=, dp=, tp=, zero=, zero-group=");
  }
  if (!given.insert(name).second) throw bad_layout(layout, name + " is given twice", "leave one of them out");
  std::int64_t value = -1;
  try {
    value = parse_count(trim(item.substr(equals + 1)));
  } catch (const Error&) {  // said below
  }
  if (value < key->least || value > key->most) {
    throw bad_layout(layout, item, fmt::format("{} is a number from {} to {}", name, key->least, key->most));
  }
  mesh.*key->value = static_cast<int>(value);
}

/// "tp=2,pp=2"
Mesh parse_layout(const std::string& layout) {
  Mesh mesh;
  std::set<std::string> given;
  for (const std::string& item : split(layout, ',')) read_item(mesh, given, layout, std::string(trim(item)));
  if (given.empty()) throw bad_layout("''", "names nothing", "for example --layout tp=2,pp=2,dp=1,zero=1");
  if (std::int64_t{mesh.pp} * mesh.dp * mesh.tp > most_ranks)
    throw bad_layout(layout, "too many ranks", fmt::format("at most {}", most_ranks));
  return mesh;
}

/// The tensors that a checkpoint holds: the kinds of state, in order, and the type of each tensor.
struct Contents {
  std::vector<std::string> kinds;
  std::map<std::pair<std::string, std::string>, DType> dtypes;  // by kind and tensor

  Contents(const checkpoint::Reader& source, const model::ParameterTable& table) {
    std::set<std::string> names;
    for (const model::ParamSpec& param : table.params()) names.insert(param.name);
    for (const StoredPiece& p : source.manifest().pieces) {
      if (!names.contains(p.tensor)) {
        throw Error(ErrorKind::input,
                    fmt::format("{}: {} of {} is no parameter of the checkpoint's model",
                                source.path().string(), p.kind, p.tensor),
                    "only the parameters of its model can be divided");
      }
      if (std::find(kinds.begin(), kinds.end(), p.kind) == kinds.end()) kinds.push_back(p.kind);
      dtypes.try_emplace({p.kind, p.tensor}, p.dtype);
    }
    for (const std::string& kind : kinds) {
      for (const model::ParamSpec& param : table.params()) {
        if (dtypes.contains({kind, param.name})) continue;
        throw Error(ErrorKind::input,
                    fmt::format("{}: {} of {} is missing", source.path().string(), kind, param.name),
                    "the checkpoint does not hold the whole state of its model");
      }
    }
  }
};

/// What a rank of the mesh writes.
std::vector<PieceSpec> pieces_of(const Contents& contents, const model::ParameterTable& table,
                                 const Mesh& mesh, int rank) {
  std::vector<std::size_t> kind_bytes;
  for (const std::string& kind : contents.kinds) {
    kind_bytes.push_back(dtype_bytes(contents.dtypes.at({kind, table.params().front().name})));
  }
  std::vector<PieceSpec> pieces;
  for (const parallel::OwnedPiece& own : parallel::owned_pieces(table, mesh, rank, kind_bytes)) {
    const std::string& kind = contents.kinds[static_cast<std::size_t>(own.kind)];
    const std::string& tensor = table.params()[static_cast<std::size_t>(own.param)].name;
    pieces.push_back({tensor, kind, own.piece, contents.dtypes.at({kind, tensor})});
  }
  return pieces;
}

void report(const Manifest& source, const checkpoint::Resharding& how, std::uint64_t bytes,
            Console& console) {
  const Manifest result = checkpoint::load_manifest(how.out);
  console.info("wrote {}: step {}, {} → {}, {} in {} files", how.out.string(), result.state.step,
               source.mesh.to_string(), result.mesh.to_string(), format_bytes(bytes), result.files.size());
  if (!console.json()) return;
  const nlohmann::ordered_json object = {{"path", how.out.string()},
                                         {"step", result.state.step},
                                         {"generation", result.generation},
                                         {"layout", result.mesh.to_string()},
                                         {"files", result.files.size()},
                                         {"pieces", result.pieces.size()},
                                         {"bytes", bytes}};
  console.out(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace

int reshard(const Options& options, const StopSignals& signals, Console& console) {
  const std::string& source_path = options.arguments.at(1);
  const std::string& out = options.arguments.at(2);
  const std::string& layout = options.layout.value();
  const Mesh mesh = parse_layout(layout);
  restore_replaced(out);  // which may be the source
  const checkpoint::Reader source(source_path);
  const model::ModelSpec& spec = source.manifest().model;
  if (const std::string why = parallel::why_impossible(mesh, spec); !why.empty())
    throw usage_error("--layout {}: {}", layout, why);
  const model::ParameterTable table(spec);
  const Contents contents(source, table);
  const checkpoint::Resharding how{
      out, options.overwrite, {mesh.pp, mesh.dp, mesh.tp, mesh.zero}, mesh.size(), [&](int rank) {
        return pieces_of(contents, table, mesh, rank);
      }};
  const std::uint64_t bytes = checkpoint::stored_bytes(source.manifest());
  {
    Progress progress = console.progress("resharding", bytes, "B");
    checkpoint::reshard(source, how, [&](std::uint64_t count) {
      signals.check();
      progress.advance(count);
    });
  }
  report(source.manifest(), how, bytes, console);
  return 0;
}

}  // namespace dt::checkpoint_tool
