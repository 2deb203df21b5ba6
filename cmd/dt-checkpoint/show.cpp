#include <map>
#include <nlohmann/json.hpp>

#include "base/io/json.hpp"
#include "base/numeric/digest.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "checkpoint/manifest.hpp"
#include "cmd/dt-checkpoint/options.hpp"
#include "model/hf/hf_config.hpp"
#include "model/parameter_table.hpp"

namespace dt::checkpoint_tool {

namespace {

using checkpoint::Manifest;
using checkpoint::StoredPiece;
using json = nlohmann::ordered_json;

/// Returns the pieces of each tensor, in the manifest's order.
std::vector<std::vector<const StoredPiece*>> tensors_of(const Manifest& manifest) {
  std::vector<std::vector<const StoredPiece*>> tensors;
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  for (const StoredPiece& piece : manifest.pieces) {
    const auto [at, is_new] = index.try_emplace({piece.kind, piece.tensor}, tensors.size());
    if (is_new) tensors.emplace_back();
    tensors[at->second].push_back(&piece);
  }
  return tensors;
}

json tensor_json(const std::vector<const StoredPiece*>& pieces) {
  json list = json::array();
  for (const StoredPiece* p : pieces) {
    list.push_back({{"start", p->piece.start},
                    {"box", p->piece.box.dims()},
                    {"begin", p->piece.begin},
                    {"end", p->piece.end},
                    {"file", p->file},
                    {"dataset", p->dataset},
                    {"offset", p->offset},
                    {"bytes", p->bytes()}});
  }
  const StoredPiece& first = *pieces.front();
  return {{"tensor", first.tensor},
          {"kind", first.kind},
          {"dtype", dtype_name(first.dtype)},
          {"shape", first.piece.global.dims()},
          {"pieces", list}};
}

json document(const std::string& path, const Manifest& m) {
  json files = json::array();
  for (const checkpoint::StoredFile& file : m.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}});
  json tensors = json::array();
  for (const auto& pieces : tensors_of(m)) tensors.push_back(tensor_json(pieces));
  return {{"path", escape_invalid_utf8(path)},
          {"generation", m.generation},
          {"parent", escape_invalid_utf8(m.parent)},
          {"created", m.created},
          {"dt_version", m.dt_version},
          {"state", parse_json(to_json(m.state), {path})},
          {"mesh", parse_json(checkpoint::to_json(m.mesh), {path})},
          {"model", parse_json(model::hf_config(m.model), {path})},
          {"files", files},
          {"tensors", tensors}};
}

std::string model_text(const model::ModelSpec& s) {
  const auto parameters = static_cast<std::uint64_t>(model::ParameterTable(s).num_parameters());
  return fmt::format("{}, {}, hidden {}, {}, {}, vocabulary {}, {}", s.family, pluralize(s.layers, "layer"),
                     s.hidden, pluralize(s.query_heads, "head"),
                     pluralize(s.key_value_heads, "key-value head"), s.vocabulary,
                     pluralize(parameters, "parameter"));
}

std::string optimizer_text(const checkpoint::StoredOptimizer& optimizer) {
  return optimizer.name.empty() ? "none" : fmt::format("{} {}", optimizer.name, optimizer.hyper_parameters);
}

std::string head_text(const std::string& path, const Manifest& m) {
  const checkpoint::TrainingState& s = m.state;
  std::uint64_t bytes = 0;
  for (const checkpoint::StoredFile& file : m.files) bytes += file.bytes;
  const std::vector<std::pair<const char*, std::string>> lines = {
      {"checkpoint", path},
      {"created", fmt::format("{} by dt {}", m.created, m.dt_version)},
      {"generation", fmt::format("{}{}", m.generation, m.parent.empty() ? "" : ", continues " + m.parent)},
      {"step", std::to_string(s.step)},
      {"samples", fmt::format("{}, of {} tokens", format_count(s.samples_consumed), s.sequence_length)},
      {"tokens", format_count(s.tokens_consumed)},
      {"data digest", to_hex(s.data_digest)},
      {"dataset", to_hex(s.dataset_digest)},
      {"seed", std::to_string(s.seed)},
      {"batch", fmt::format("{}, micro-batch {}, {}", pluralize(s.global_batch, "sequence"), s.micro_batch,
                            pluralize(s.grad_lanes, "lane"))},
      {"precision", s.precision == "bf16" ? "bf16, multiplied in " + s.matmul : s.precision},
      {"optimizer", optimizer_text(s.optimizer)},
      {"schedule", s.schedule},
      {"conditions", s.conditions},
      {"mesh", m.mesh.to_string()},
      {"model", model_text(m.model)},
      {"files", fmt::format("{}, {}", m.files.size(), format_bytes(bytes))},
  };
  std::string text;
  for (const auto& [name, value] : lines) text += fmt::format("{:12} {}\n", name, printable_line(value));
  return text + "\n";
}

std::string table(const Manifest& manifest) {
  std::vector<std::vector<std::string>> cells = {{"tensor", "kind", "dtype", "shape", "pieces"}};
  for (const auto& pieces : tensors_of(manifest)) {
    const StoredPiece& first = *pieces.front();
    const bool whole = pieces.size() == 1 && first.piece.is_whole();
    cells.push_back({first.tensor, first.kind, std::string(dtype_name(first.dtype)),
                     first.piece.global.to_string(), whole ? "whole" : std::to_string(pieces.size())});
  }
  return format_table(cells);
}

}  // namespace

int show(const std::string& checkpoint, Console& console) {
  const Manifest manifest = checkpoint::load_manifest(checkpoint);
  if (console.json()) {
    console.write_text(document(checkpoint, manifest).dump(-1, ' ', false, json::error_handler_t::replace) +
                       "\n");
  } else {
    console.write_text(head_text(checkpoint, manifest) + table(manifest));
  }
  return 0;
}

}  // namespace dt::checkpoint_tool
