#include "cmd/dt-merge/run.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "checkpoint/export.hpp"
#include "model/parameter_table.hpp"

namespace dt::merge_tool {

namespace {

/// Bytes of the weights alone: what is going to be written.
std::uint64_t weight_bytes(const checkpoint::Manifest& manifest) {
  std::uint64_t total = 0;
  for (const checkpoint::StoredPiece& piece : manifest.pieces) {
    if (piece.kind == checkpoint::kind_weights) total += piece.bytes();
  }
  return total;
}

}  // namespace

int run(const Options& options, Console& console) {
  const checkpoint::Reader reader(options.checkpoints.front());
  const checkpoint::Manifest& manifest = reader.manifest();
  const bool is_h5 = options.is_h5();
  const std::uint64_t bytes = weight_bytes(manifest);
  {
    Progress progress = console.progress("merging", bytes, "B");
    const auto done = [&](std::uint64_t count) { progress.advance(count); };
    is_h5 ? checkpoint::export_h5(reader, options.out, options.overwrite, done)
          : checkpoint::export_hf(reader, options.out, options.overwrite, done);
  }
  const std::int64_t parameters = model::ParameterTable(manifest.model).num_parameters();
  console.info("wrote {}: {} parameters of step {}, {}", options.out,
               format_count(static_cast<std::uint64_t>(parameters)), manifest.state.step,
               format_bytes(bytes));
  if (console.json()) {
    const nlohmann::ordered_json object = {{"path", options.out},
                                           {"format", is_h5 ? "h5" : "hf"},
                                           {"step", manifest.state.step},
                                           {"parameters", parameters},
                                           {"bytes", bytes}};
    console.out(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  return 0;
}

}  // namespace dt::merge_tool
