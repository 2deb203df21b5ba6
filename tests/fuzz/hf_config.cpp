// config.json and generation_config.json. Accepted files are written again as something that reads the
// same, and all their parameters are found.
#include "model/hf/hf_config.hpp"

#include "fuzz/fuzz.hpp"
#include "model/hf/hf_names.hpp"
#include "model/parameter_table.hpp"

using namespace dt::model;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = dt_fuzz::text_of(bytes, size);
  dt_fuzz::accepted([&] { static_cast<void>(parse_generation_ends(text, "generation_config.json")); });
  return dt_fuzz::accepted([&] {
    const ModelSpec spec = parse_hf_config(text, "config.json");
    dt_fuzz::require(parse_hf_config(hf_config(spec), "written") == spec, "what is written reads the same");
    const ParameterTable table(spec);
    for (const HfTensor& tensor : hf_tensors(spec)) {
      for (const std::string& part : tensor.params)
        dt_fuzz::require(table.find(part) >= 0, "a parameter is found");
    }
  });
}
