#include "convert/import.hpp"

#include <nlohmann/json.hpp>

#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "checkpoint/tokenizer_files.hpp"
#include "cmd/dt-checkpoint/options.hpp"
#include "model/parameter_table.hpp"

namespace dt::checkpoint_tool {

using json = nlohmann::ordered_json;

int import_model(const Options& options, const StopSignals& signals, Console& console) {
  const std::string& folder = options.arguments.at(1);
  const std::string& out = options.arguments.at(2);
  const convert::HfFolder source(folder);
  if (const std::string remark = source.remark(); !remark.empty()) console.warn("{}", remark);
  const std::uint64_t bytes = convert::weight_bytes(source);
  checkpoint::Manifest manifest;
  {
    Progress progress = console.progress("importing", bytes, "B");
    manifest = convert::import_hf(source, out, [&](std::uint64_t count) {
      signals.check();
      progress.advance(count);
    });
  }
  const std::int64_t parameters = model::ParameterTable(manifest.model).num_parameters();
  console.info("wrote {}: {}, {} parameters, {}; start a run from it with dt-train --init-from", out,
               manifest.model.family, format_count(static_cast<std::uint64_t>(parameters)),
               format_bytes(bytes));
  if (console.json()) {
    const json object = {{"path", escape_invalid_utf8(out)},
                         {"step", manifest.state.step},
                         {"family", manifest.model.family},
                         {"parameters", parameters},
                         {"bytes", bytes},
                         {"tokenizer_files", checkpoint::tokenizer_file_names(checkpoint::Reader(out))}};
    console.write_text(object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  }
  return 0;
}

}  // namespace dt::checkpoint_tool
