// dataset.json. Accepted files are written again as something that reads the same.
#include "data/read/dataset_file.hpp"
#include "fuzz/fuzz.hpp"

using namespace dt::data;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const dt_fuzz::ScratchFolder folder;
  folder.put(dataset_file_name, dt_fuzz::text_of(bytes, size));
  return dt_fuzz::accepted([&] {
    const std::string json = to_json(read_dataset_file(folder.path()), false);
    folder.put(dataset_file_name, json);
    dt_fuzz::require(to_json(read_dataset_file(folder.path()), false) == json,
                     "what is written reads the same");
  });
}
