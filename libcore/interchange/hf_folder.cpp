#include "interchange/hf_folder.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "checkpoint/block_reader.hpp"
#include "checkpoint/elements.hpp"
#include "checkpoint/json_reader.hpp"
#include "model/parameter_table.hpp"

namespace dt::interchange {

namespace {

constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";

/// The shards that an index names, sorted.
std::set<std::string> shard_names(const fs::path& index) {
  const checkpoint::JsonObject root =
      checkpoint::JsonObject::parse(read_file(index), index.string(), "fetch the model again");
  const checkpoint::JsonObject map = root.object("weight_map");
  std::set<std::string> names;
  for (const std::string& tensor : map.names()) names.insert(map.string(tensor));
  for (const std::string& name : names) {
    if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) {
      throw input_error("{}: weight_map names '{}', which is not a file's name", index.string(), name);
    }
  }
  return names;
}

model::ModelSpec load_spec(const fs::path& folder) {
  const fs::path config = folder / "config.json";
  const bool is_folder = folder_exists(folder);
  if (is_folder && path_exists(config)) return model::load_model_spec(config.string());
  throw Error(ErrorKind::input,
              fmt::format("{} {}", folder.string(), is_folder ? "holds no config.json" : "is not a folder"),
              "expected a Hugging Face model: a folder with config.json and safetensors");
}

}  // namespace

HfFolder::HfFolder(const fs::path& folder) : folder_(folder), spec_(load_spec(folder)) {
  open_files(folder);
  for (const model::HfTensor& tensor : model::hf_tensors(spec_)) place(tensor);
}

void HfFolder::open_files(const fs::path& folder) {
  std::set<std::string> names = {single_name};
  if (!path_exists(folder / single_name)) {
    if (!path_exists(folder / index_name)) {
      throw Error(ErrorKind::input,
                  fmt::format("{} holds neither {} nor {}", folder.string(), single_name, index_name),
                  "dt reads Hugging Face models as safetensors");
    }
    names = shard_names(folder / index_name);
  }
  for (const std::string& name : names) {
    files_.push_back(std::make_unique<SafetensorsFile>(folder / name));
    for (const auto& [tensor_name, tensor] : files_.back()->tensors()) {
      tensors_[tensor_name] = {files_.back().get(), &tensor};
    }
  }
}

HfFolder::Found HfFolder::find(const model::HfTensor& wanted) const {
  auto found = tensors_.find(wanted.name);
  if (found == tensors_.end() && !wanted.alias.empty()) found = tensors_.find(wanted.alias);
  if (found == tensors_.end()) {
    throw Error(ErrorKind::input, fmt::format("{}: tensor '{}' is missing", folder_.string(), wanted.name),
                "the weights do not fit the folder's config.json");
  }
  const SafeTensor& tensor = *found->second.tensor;
  const std::string name = fmt::format("{}: tensor '{}'", found->second.file->path().string(), tensor.name);
  if (tensor.shape != wanted.shape) {
    throw Error(ErrorKind::input, fmt::format("{} has shape {}", name, tensor.shape.to_string()),
                fmt::format("the folder's config.json makes it {}", wanted.shape.to_string()));
  }
  if (!tensor.dtype || !checkpoint::converts(*tensor.dtype, DType::f32)) {
    throw Error(ErrorKind::input, fmt::format("{} has type {}", name, tensor.dtype_name),
                "expected F32, F16, BF16 or F64");
  }
  return found->second;
}

void HfFolder::place(const model::HfTensor& wanted) {
  const Found found = find(wanted);
  const model::ParameterTable table(spec_);
  std::int64_t row = 0;
  for (const std::string& part : wanted.parts) {
    const Shape& shape = table.params()[static_cast<std::size_t>(table.find(part))].shape;
    places_[part] = {found.file, found.tensor, shape, row, wanted.transposed};
    row += shape[0];
  }
}

/// Rows of the parameter [out, in] from stored [in, stacked outs], in the stored element type.
std::vector<std::byte> HfFolder::read_transposed(const Place& place, std::int64_t first_row,
                                                 std::int64_t num_rows) const {
  const std::size_t bytes = dtype_bytes(*place.tensor->dtype);
  const auto rows = static_cast<std::size_t>(num_rows);
  const auto columns = static_cast<std::size_t>(place.shape[1]);
  const auto stacked = static_cast<std::size_t>(place.tensor->shape[1]);
  constexpr std::size_t tile = 16;  // columns at a time, so that a written cache line is used up
  std::vector<std::byte> values(rows * columns * bytes);
  std::vector<std::byte> strip(tile * rows * bytes);
  for (std::size_t first = 0; first < columns; first += tile) {
    const std::size_t count = std::min(tile, columns - first);
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t at = (first + j) * stacked + static_cast<std::size_t>(place.row + first_row);
      place.file->read(*place.tensor, at * bytes, std::span(strip).subspan(j * rows * bytes, rows * bytes));
    }
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        std::memcpy(&values[(i * columns + first + j) * bytes], &strip[(j * rows + i) * bytes], bytes);
      }
    }
  }
  return values;
}

const HfFolder::Place& HfFolder::place_of(const std::string& param) const {
  const auto found = places_.find(param);
  if (found == places_.end()) throw input_error("{}: there is no parameter '{}'", folder_.string(), param);
  return found->second;
}

void HfFolder::read(const std::string& param, const Piece& wanted, const Tensor& out) const {
  const Place& place = place_of(param);
  if (place.shape != wanted.global) {
    throw input_error("{}: {} has shape {}, not {}", folder_.string(), param, place.shape.to_string(),
                      wanted.global.to_string());
  }
  const DType dtype = *place.tensor->dtype;
  const std::vector<CopyRun> runs = intersect(Piece::whole(place.shape), wanted);
  if (runs.empty()) return;
  if (place.transposed) {
    const std::int64_t columns = place.shape[1];
    const std::int64_t first_row = runs.front().source / columns;
    const std::int64_t end_row = (runs.back().source + runs.back().count + columns - 1) / columns;
    const std::vector<std::byte> values = read_transposed(place, first_row, end_row - first_row);
    for (const CopyRun& run : runs) {
      const auto at = static_cast<std::size_t>(run.source - first_row * columns);
      checkpoint::copy_elements(dtype, values.data() + at * dtype_bytes(dtype), out.dtype(),
                                out.raw() + static_cast<std::size_t>(run.target) * dtype_bytes(out.dtype()),
                                run.count);
    }
    return;
  }
  const std::uint64_t payload = static_cast<std::uint64_t>(place.shape.numel()) * dtype_bytes(dtype);
  const std::uint64_t row_bytes = payload / static_cast<std::uint64_t>(place.shape[0]);
  const std::uint64_t begin = static_cast<std::uint64_t>(place.row) * row_bytes;
  std::vector<std::byte> buffer;
  const auto load = [&](std::uint64_t block, std::span<std::byte> bytes) {
    place.file->read(*place.tensor, begin + block * digest_block_bytes, bytes);
  };
  checkpoint::copy_runs(runs, dtype, payload, load, out, buffer);
}

}  // namespace dt::interchange
