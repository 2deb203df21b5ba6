#include "cmd/dt-merge/tokenizer.hpp"

#include <vector>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/io/json.hpp"
#include "base/text/utf8.hpp"
#include "data/read/dataset_file.hpp"
#include "data/read/mixture.hpp"

namespace dt::merge_tool {

namespace {

/// Returns the last value of --data in the run's record, or "".
std::string data_of(const fs::path& run_record) {
  std::string data;
  try {
    const JsonValue record = JsonValue::parse_object(read_file(run_record), {run_record.string()});
    data = record.object("asked").string("data");
    for (const JsonValue& change : record.objects("changes")) {
      if (change.string("option") == "data") data = change.string("to");
    }
  } catch (const Error&) {  // another kind of run, or a torn record: neither names a dataset
  }
  return unescape_bytes(data);
}

/// Returns whether the datasets still have the digest. Relative paths are taken from `base`. Sets
/// `why_not` if they may not be read.
/// Errors: those of reading, except for files that are gone, have become something else, or may not
/// be read.
bool is_data(const fs::path& base, const std::vector<data::MixturePart>& parts, std::uint64_t digest,
             std::string& why_not) {
  std::vector<std::uint64_t> contents, weights;
  try {
    for (const data::MixturePart& part : parts) {
      contents.push_back(data::read_dataset_file(base / part.folder).content_digest());
      weights.push_back(part.weight);
    }
    return data::mixture_digest(contents, data::WeightedInterleave(weights).weights()) == digest;
  } catch (const Error& error) {
    const bool is_forbidden = error.error_number() == EACCES || error.error_number() == EPERM;
    if (!is_forbidden && !error.indicates_corruption()) throw;
    if (is_forbidden) why_not = error.message();
    return false;
  }
}

}  // namespace

FoundTokenizer find_tokenizer(const fs::path& checkpoint, const checkpoint::Manifest& manifest) {
  std::error_code error;
  const fs::path run = fs::canonical(checkpoint, error).parent_path().parent_path();
  if (error || !file_exists(run / "run.json")) return {};
  const std::string data = data_of(run / "run.json");
  if (data.empty()) return {};
  const std::vector<data::MixturePart> parts = data::parse_mixture(data);
  std::string why_not = fmt::format("{} names the dataset {}, which is missing or has changed",
                                    (run / "run.json").string(), data);
  for (const fs::path& base : {fs::path(), run.parent_path()}) {
    const fs::path folder = base / parts.front().folder;  // all parts have the same tokenizer
    if (!is_data(base, parts, manifest.state.dataset_digest, why_not)) continue;
    const fs::path file = folder / data::tokenizer_file_name;
    if (!file_exists(file)) continue;
    return {file, "", data::read_dataset_file(folder).tokenizer.eos};
  }
  return {{}, why_not, std::nullopt};
}

}  // namespace dt::merge_tool
