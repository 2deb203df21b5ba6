#include "convert/hf_folder.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/io/json.hpp"
#include "base/numeric/digest.hpp"
#include "base/numeric/integer.hpp"
#include "checkpoint/elements.hpp"
#include "model/hf/hf_config.hpp"

namespace dt::convert {

namespace {

constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";

/// Returns the shards that an index names, sorted.
std::set<std::string> shard_names(const fs::path& index) {
  const JsonValue root =
      JsonValue::parse_object(read_file(index), {index.string(), "download the model again"});
  const JsonValue map = root.object("weight_map");
  std::set<std::string> names;
  for (const std::string& tensor : map.names()) names.insert(map.string(tensor));
  for (const std::string& name : names) {
    if (!is_plain_file_name(name)) throw map.error(fmt::format("'{}' is not a plain file name", name));
  }
  return names;
}

model::ModelSpec load_spec(const fs::path& folder) {
  const fs::path config = folder / "config.json";
  const bool is_folder = folder_exists(folder);
  if (is_folder && path_exists(config)) return model::load_model_spec(config.string());
  throw Error(ErrorKind::input,
              fmt::format("{} {}", folder.string(), is_folder ? "holds no config.json" : "is not a folder"),
              "expected a Hugging Face model: a folder with config.json and .safetensors files");
}

/// Returns whether two tensors hold the same numbers, in whichever types. Reads them up to the first block
/// that differs.
bool have_equal_values(const SafetensorsFile& file_a, const SafeTensor& a, const SafetensorsFile& file_b,
                       const SafeTensor& b) {
  if (a.shape != b.shape || !a.dtype || !b.dtype) return false;
  constexpr std::int64_t block = std::int64_t{1} << 20;  // elements
  std::vector<std::byte> stored;
  std::vector<double> values_a, values_b;
  const auto read = [&](const SafetensorsFile& file, const SafeTensor& tensor, std::int64_t begin,
                        std::vector<double>& values) {
    const std::size_t bytes = dtype_bytes(*tensor.dtype);
    stored.resize(values.size() * bytes);
    file.read(tensor, static_cast<std::uint64_t>(begin) * bytes, stored);
    checkpoint::copy_elements(*tensor.dtype, stored.data(), DType::f64,
                              reinterpret_cast<std::byte*>(values.data()),
                              static_cast<std::int64_t>(values.size()));
  };
  for (std::int64_t begin = 0; begin < a.shape.numel(); begin += block) {
    const auto count = static_cast<std::size_t>(std::min(block, a.shape.numel() - begin));
    values_a.resize(count);
    values_b.resize(count);
    read(file_a, a, begin, values_a);
    read(file_b, b, begin, values_b);
    if (std::memcmp(values_a.data(), values_b.data(), count * sizeof(double)) != 0) return false;
  }
  return true;
}

}  // namespace

HfFolder::HfFolder(const fs::path& folder) : folder_(folder), spec_(load_spec(folder)) {
  open_files(folder);
  if (static_cast<std::uint64_t>(spec_.layers) > tensors_.size()) {  // tables of so many could fill memory
    throw input_error("{}: config.json says that the model has {} layers, but the files hold {} tensors",
                      folder.string(), spec_.layers, tensors_.size());
  }
  read_end_of_text();
  if (spec_.tied) untie_where_heads_differ();
  const model::ParameterTable table(spec_);
  for (const model::HfTensor& tensor : model::hf_tensors(spec_)) locate(tensor, table);
}

void HfFolder::open_files(const fs::path& folder) {
  std::set<std::string> names = {single_name};
  if (!path_exists(folder / single_name)) {
    if (!path_exists(folder / index_name)) {
      throw Error(ErrorKind::input,
                  fmt::format("{} holds neither {} nor {}", folder.string(), single_name, index_name),
                  "dt reads weights from safetensors files: convert the model to safetensors");
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

/// Takes the end-of-text ids from generation_config.json, as generate() does if a folder has it.
void HfFolder::read_end_of_text() {
  const fs::path file = folder_ / model::generation_config_name;
  if (!file_exists(file)) return;
  std::vector<std::int64_t> ends = model::parse_generation_ends(read_file(file), file.string());
  if (!ends.empty()) spec_.special.eos = std::move(ends);
}

void HfFolder::untie_where_heads_differ() {
  const auto head = tensors_.find(model::hf_head_name(spec_));
  const std::vector<model::HfTensor> all = model::hf_tensors(spec_);
  const auto table = std::find_if(all.begin(), all.end(), [](const model::HfTensor& t) {
    return t.params.front() == "embedding.token.weight";
  });
  const FileTensor* embedding = find_named(*table);
  if (head == tensors_.end() || !embedding || embedding->tensor == head->second.tensor) return;
  if (have_equal_values(*embedding->file, *embedding->tensor, *head->second.file, *head->second.tensor))
    return;
  spec_.tied = false;
  remark_ = fmt::format(
      "{}: config.json ties the output head to the embedding, but {} and {} hold different values; dt reads "
      "the model as untied and keeps the separate head, as transformers 5 does",
      folder_.string(), head->first, embedding->tensor->name);
}

const HfFolder::FileTensor* HfFolder::find_named(const model::HfTensor& wanted) const {
  if (const auto found = tensors_.find(wanted.name); found != tensors_.end()) return &found->second;
  for (const std::string& alias : wanted.aliases) {
    if (const auto found = tensors_.find(alias); found != tensors_.end()) return &found->second;
  }
  return nullptr;
}

HfFolder::FileTensor HfFolder::find(const model::HfTensor& wanted) const {
  const FileTensor* found = find_named(wanted);
  if (!found) {
    throw Error(ErrorKind::input, fmt::format("{}: tensor '{}' is missing", folder_.string(), wanted.name),
                "the weights do not match the folder's config.json");
  }
  const SafeTensor& tensor = *found->tensor;
  const std::string name = fmt::format("{}: tensor '{}'", found->file->path().string(), tensor.name);
  if (tensor.shape != wanted.shape) {
    throw Error(ErrorKind::input, fmt::format("{} has shape {}", name, tensor.shape.to_string()),
                fmt::format("the folder's config.json implies shape {}", wanted.shape.to_string()));
  }
  if (!tensor.dtype || !checkpoint::is_convertible(*tensor.dtype, DType::f32)) {
    throw Error(ErrorKind::input, fmt::format("{} has type {}", name, tensor.dtype_name),
                "expected F32, F16, BF16 or F64");
  }
  return *found;
}

void HfFolder::locate(const model::HfTensor& wanted, const model::ParameterTable& table) {
  const FileTensor found = find(wanted);
  std::int64_t row = 0;
  for (const std::string& part : wanted.params) {
    const Shape& shape = table.params()[static_cast<std::size_t>(table.find(part))].shape;
    const std::int64_t stacked = wanted.transposed ? wanted.shape[1] : wanted.shape[0];
    locations_[part] = {
        found.file, found.tensor, shape, {row, shape[0], stacked, wanted.groups}, wanted.transposed};
    row += shape[0];
  }
}

/// Returns rows of the parameter [out, in] from stored [in, stacked outs], in the stored element type.
std::vector<std::byte> HfFolder::read_transposed(const ParameterLocation& place, std::int64_t first_row,
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
      const std::size_t at = (first + j) * stacked + static_cast<std::size_t>(place.rows.at(first_row));
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

const HfFolder::ParameterLocation& HfFolder::location_of(const std::string& param) const {
  const auto found = locations_.find(param);
  if (found == locations_.end()) throw input_error("{}: there is no parameter '{}'", folder_.string(), param);
  return found->second;
}

void HfFolder::read(const std::string& param, const Piece& wanted, const Tensor& out) const {
  const ParameterLocation& place = location_of(param);
  if (place.shape != wanted.global) {
    throw input_error("{}: {} has shape {}, expected {}", folder_.string(), param, place.shape.to_string(),
                      wanted.global.to_string());
  }
  const DType dtype = *place.tensor->dtype;
  const std::vector<CopyRange> runs = intersect(Piece::whole(place.shape), wanted);
  if (runs.empty()) return;
  if (place.transposed) {
    const std::int64_t columns = place.shape[1];
    const std::int64_t first_row = runs.front().source / columns;
    const std::int64_t end_row = ceil_div(runs.back().source + runs.back().count, columns);
    const std::vector<std::byte> values = read_transposed(place, first_row, end_row - first_row);
    for (const CopyRange& run : runs) {
      const auto at = static_cast<std::size_t>(run.source - first_row * columns);
      checkpoint::copy_elements(dtype, values.data() + at * dtype_bytes(dtype), out.dtype(),
                                out.raw() + static_cast<std::size_t>(run.target) * dtype_bytes(out.dtype()),
                                run.count);
    }
    return;
  }
  const std::uint64_t payload = storage_bytes(dtype, place.shape.numel());
  const std::uint64_t row_bytes = payload / static_cast<std::uint64_t>(place.shape[0]);
  std::vector<std::byte> buffer;
  const auto load = [&](std::uint64_t block, std::span<std::byte> bytes) {
    place.rows.for_runs(row_bytes, block * digest_block_bytes, bytes.size(),
                        [&](std::uint64_t at, std::size_t done, std::size_t count) {
                          place.file->read(*place.tensor, at, bytes.subspan(done, count));
                        });
  };
  checkpoint::copy_ranges(runs, dtype, payload, load, out, buffer);
}

ReadAccess HfFolder::readers() const {
  ReadAccess readers = ReadAccess::of(folder_);
  for (const auto& file : files_) readers &= ReadAccess::of(file->path());
  return readers;
}

}  // namespace dt::convert
