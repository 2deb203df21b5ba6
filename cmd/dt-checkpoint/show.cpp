#include <nlohmann/json.hpp>
#include <utility>

#include "base/io/json.hpp"
#include "base/numeric/digest.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/piece_index.hpp"
#include "cmd/dt-checkpoint/options.hpp"
#include "model/hf/hf_config.hpp"
#include "model/parameter_table.hpp"

namespace dt::checkpoint_tool {

namespace {

using checkpoint::Manifest;
using checkpoint::PieceIndex;
using checkpoint::StoredPiece;
using checkpoint::StoredTensor;
using json = nlohmann::ordered_json;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json piece_json(const StoredPiece& p) {
  return {
      {"start", p.piece.start}, {"box", p.piece.box.dims()}, {"begin", p.piece.begin}, {"end", p.piece.end},
      {"file", p.file},         {"dataset", p.dataset},      {"offset", p.offset},     {"bytes", p.bytes()}};
}

/// Prints a list item by item: its text would be as large as the checkpoint has ranks.
class ListPrinter {
 public:
  explicit ListPrinter(Console& console) : console_(console) {}
  void add(const std::string& item) {
    text_ += std::exchange(separator_, ",");
    text_ += item;
    if (text_.size() >= flush_bytes) flush();
  }
  void flush() { console_.write_text(std::exchange(text_, {})); }

 private:
  static constexpr std::size_t flush_bytes = std::size_t{1} << 16;
  Console& console_;
  std::string text_;
  const char* separator_ = "";
};

/// Returns an object's text without its end, with a list as its next member.
std::string open_list(const json& object, const char* name) {
  std::string text = dump(object);
  text.pop_back();
  return fmt::format("{},\"{}\":[", text, name);
}

void print_tensor(const PieceIndex& pieces, const StoredTensor& tensor, ListPrinter& tensors) {
  // A tensor's pieces may be as many as there are ranks.
  std::string text = open_list({{"tensor", tensor.tensor},
                                {"kind", tensor.kind},
                                {"dtype", dtype_name(tensor.dtype)},
                                {"shape", tensor.global.dims()}},
                               "pieces");
  const char* separator = "";
  pieces.for_each(tensor, [&](const StoredPiece& piece) {
    text += std::exchange(separator, ",") + dump(piece_json(piece));
  });
  tensors.add(text + "]}");
}

void print_json(const std::string& path, const Manifest& m, const PieceIndex& pieces, Console& console) {
  json files = json::array();
  for (const checkpoint::StoredFile& file : m.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}});
  const json head = {{"path", escape_invalid_utf8(path)},
                     {"generation", m.generation},
                     {"parent", escape_invalid_utf8(m.parent)},
                     {"created", m.created},
                     {"dt_version", m.dt_version},
                     {"state", parse_json(to_json(m.state), {path})},
                     {"mesh", parse_json(checkpoint::to_json(m.mesh), {path})},
                     {"model", parse_json(model::hf_config(m.model), {path})},
                     {"files", files}};
  console.write_text(open_list(head, "tensors"));
  ListPrinter tensors(console);
  for (const StoredTensor& tensor : pieces.tensors()) print_tensor(pieces, tensor, tensors);
  tensors.flush();
  console.write_text("]}\n");
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
      {"samples", fmt::format("{} of {} tokens each", format_count(s.samples_consumed), s.sequence_length)},
      {"tokens", format_count(s.tokens_consumed)},
      {"data digest", to_hex(s.data_digest)},
      {"dataset digest", to_hex(s.dataset_digest)},
      {"seed", std::to_string(s.seed)},
      {"batch", fmt::format("{}, micro-batch {}, {}", pluralize(s.global_batch, "sequence"), s.micro_batch,
                            pluralize(s.grad_lanes, "gradient lane"))},
      {"precision", s.precision == "bf16" ? "bf16, matmul " + s.matmul : s.precision},
      {"optimizer", optimizer_text(s.optimizer)},
      {"lr schedule", s.schedule},
      {"conditions", s.conditions},
      {"layout", m.mesh.to_string()},
      {"model", model_text(m.model)},
      {"files", fmt::format("{}, {}", m.files.size(), format_bytes(bytes))},
  };
  std::string text;
  for (const auto& [name, value] : lines) text += fmt::format("{:15} {}\n", name, printable_line(value));
  return text + "\n";
}

std::string table(const PieceIndex& pieces) {
  std::vector<std::vector<std::string>> cells = {{"tensor", "kind", "dtype", "shape", "pieces"}};
  for (const StoredTensor& t : pieces.tensors()) {
    const bool whole = t.num_pieces() == 1 && pieces.piece(t.boxes.front().first).piece.is_whole();
    cells.push_back({t.tensor, t.kind, std::string(dtype_name(t.dtype)), t.global.to_string(),
                     whole ? "whole" : std::to_string(t.num_pieces())});
  }
  return format_table(cells);
}

}  // namespace

int show(const std::string& checkpoint, Console& console) {
  const Manifest manifest = checkpoint::load_manifest(checkpoint);
  const auto pieces = checkpoint::open_pieces(manifest, checkpoint);
  if (console.json()) {
    print_json(checkpoint, manifest, *pieces, console);
  } else {
    console.write_text(head_text(checkpoint, manifest) + table(*pieces));
  }
  return 0;
}

}  // namespace dt::checkpoint_tool
