#include "cmd/dt-merge/tokenizer.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "data/dataset_file.hpp"

namespace dt::merge_tool {

namespace {

/// The last value of --data, or "".
std::string data_of(const fs::path& run_record) {
  const auto json = nlohmann::json::parse(read_file(run_record), nullptr, /*allow_exceptions=*/false);
  std::string data;
  try {
    data = json.at("asked").at("data").get<std::string>();
    for (const auto& change : json.at("changes")) {
      if (change.at("option") == "data") data = change.at("to").get<std::string>();
    }
  } catch (const nlohmann::json::exception&) {  // of another kind of run: it names no dataset
  }
  return data;
}

bool is_dataset(const fs::path& folder, std::uint64_t digest) {
  try {
    return data::read_dataset_file(folder).content_digest() == digest;
  } catch (const Error&) {  // it is gone, or has become something else
    return false;
  }
}

}  // namespace

FoundTokenizer find_tokenizer(const fs::path& checkpoint, const checkpoint::Manifest& manifest) {
  std::error_code error;
  const fs::path run = fs::canonical(checkpoint, error).parent_path().parent_path();
  if (error || !fs::is_regular_file(run / "run.json", error)) return {};
  const std::string data = data_of(run / "run.json");
  if (data.empty()) return {};
  std::vector<fs::path> folders = {data};
  if (folders.front().is_relative()) folders.push_back(run.parent_path() / data);
  for (const fs::path& folder : folders) {
    const fs::path file = folder / data::tokenizer_file_name;
    if (is_dataset(folder, manifest.state.dataset_digest) && fs::is_regular_file(file, error))
      return {file, ""};
  }
  return {{},
          fmt::format("{} names the dataset {}, which is not there as it was", (run / "run.json").string(),
                      data)};
}

}  // namespace dt::merge_tool
