#include "convert/export.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "base/numeric/digest.hpp"
#include "checkpoint/elements.hpp"
#include "checkpoint/piece_index.hpp"
#include "checkpoint/tokenizer_files.hpp"
#include "model/hf/hf_config.hpp"
#include "model/parameter_table.hpp"

namespace dt::convert {

namespace {

constexpr const char* remedy_average =
    "only checkpoints of the same model can be averaged: leave out the one that differs";

Error differs(const checkpoint::Reader& first, const checkpoint::Reader& other, const std::string& what,
              const std::string& in_first, const std::string& in_other) {
  return Error(ErrorKind::input,
               fmt::format("{}: {} is {}, but {} in {}", other.path().string(), what, in_other, in_first,
                           first.path().string()),
               remedy_average);
}

void require_same_tensors(const checkpoint::Reader& first, const checkpoint::Reader& other) {
  const model::ParameterTable expected(first.manifest().model);
  const model::ParameterTable actual(other.manifest().model);
  const auto shape_in = [](const model::ParameterTable& table, const std::string& name) {
    const int index = table.find(name);
    return index < 0 ? "missing" : table.params()[static_cast<std::size_t>(index)].shape.to_string();
  };
  for (const model::ParameterTable* table : {&expected, &actual}) {
    for (const model::ParamSpec& param : table->params()) {
      const std::string a = shape_in(expected, param.name);
      const std::string b = shape_in(actual, param.name);
      if (a != b) throw differs(first, other, param.name, a, b);
    }
  }
}

/// Compares settings that tensors do not show, such as the frequencies of positions. Settings that do
/// not change what the model computes may differ.
void require_same_settings(const checkpoint::Reader& first, const checkpoint::Reader& other) {
  const auto settings_of = [](const checkpoint::Reader& checkpoint) -> nlohmann::json {
    return parse_json(model::hf_config(checkpoint.manifest().model), {"model"});
  };
  const auto expected = settings_of(first), actual = settings_of(other);
  for (const auto& [key, value] : expected.items()) {
    if (key == "initializer_range" || key.ends_with("_token_id")) continue;
    if (actual.value(key, nlohmann::json()) == value) continue;
    throw differs(first, other, key, value.dump(), actual.value(key, nlohmann::json()).dump());
  }
}

template <class T>
void add_scaled(double weight, std::span<const T> values, std::span<double> sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weight * static_cast<double>(values[i]);
}

}  // namespace

ExportSource::ExportSource(const std::vector<fs::path>& checkpoints, std::vector<double> weights)
    : weights_(std::move(weights)) {
  DT_CHECK(!checkpoints.empty() && checkpoints.size() == weights_.size(),
           "{} checkpoints were given {} averaging weights", checkpoints.size(), weights_.size());
  const std::size_t cached_blocks = 8 / checkpoints.size();  // bounds the memory of all checkpoints together
  for (const fs::path& path : checkpoints) {
    checkpoints_.emplace_back(path, cached_blocks);
    checkpoints_.back().pieces().check();
    require_same_tensors(checkpoints_.front(), checkpoints_.back());
    require_same_settings(checkpoints_.front(), checkpoints_.back());
  }
}

const checkpoint::StoredTensor& ExportSource::stored(const std::string& kind,
                                                     const std::string& tensor) const {
  if (const auto* found = checkpoints_.front().pieces().find(kind, tensor)) return *found;
  const std::string path = checkpoints_.front().path().string();
  if (kind == checkpoint::kind_weights) {
    throw Error(ErrorKind::input, fmt::format("{}: {} is missing", path, tensor),
                "the checkpoint does not contain all weights of its model");
  }
  if (kind == kernels::average_kind) {
    throw Error(ErrorKind::input, fmt::format("{} has no average of its weights", path),
                "leave out --ema to export the weights; only runs of dt-train --ema keep an average");
  }
  throw Error(ErrorKind::input, fmt::format("{}: {} of {} is missing", path, kind, tensor),
              "the checkpoint has no optimizer state: export only the weights, without --with-optimizer");
}

DType ExportSource::stored_dtype(const std::string& kind, const std::string& tensor) const {
  return stored(kind, tensor).dtype;
}

std::vector<std::string> ExportSource::state_kinds() const {
  std::set<std::string> kinds;
  for (const checkpoint::StoredTensor& tensor : checkpoints_.front().pieces().tensors()) {
    if (tensor.kind != checkpoint::kind_weights) kinds.insert(tensor.kind);
  }
  if (kinds.empty())
    throw Error(ErrorKind::input, fmt::format("{} has no optimizer state", newest().path().string()),
                "export only the weights, without --with-optimizer");
  return {kinds.begin(), kinds.end()};
}

std::vector<Piece> ExportSource::blocks(const std::string& kind, const std::string& tensor,
                                        const Shape& shape) const {
  const checkpoint::StoredTensor& whole_tensor = stored(kind, tensor);
  const auto refuse = [&](const std::string& why) {
    return Error(ErrorKind::input,
                 fmt::format("{}: {} of {}: its stored pieces {}", checkpoints_.front().path().string(), kind,
                             tensor, why),
                 "the pieces must cover each element of the tensor exactly once");
  };
  std::vector<Piece> blocks;
  std::int64_t held = 0;
  if (checkpoint::any_overlap(whole_tensor)) throw refuse("overlap");
  checkpoints_.front().pieces().for_each(whole_tensor, [&](const checkpoint::StoredPiece& piece) {
    const Piece& whole = piece.piece;
    if (whole.global != shape) {
      throw refuse(fmt::format("have shape {}, but the model expects {}", whole.global.to_string(),
                               shape.to_string()));
    }
    held += whole.numel();
    const auto step = static_cast<std::int64_t>(digest_block_bytes / dtype_bytes(piece.dtype));
    for (std::int64_t begin = whole.begin; begin < whole.end; begin += step) {
      blocks.push_back(whole);
      blocks.back().begin = begin;
      blocks.back().end = std::min(begin + step, whole.end);
    }
  });
  if (held != shape.numel()) throw refuse(fmt::format("hold {} of {} elements", held, shape.numel()));
  return blocks;
}

void ExportSource::read(const std::string& kind, const std::string& tensor, const Piece& wanted,
                        const Tensor& out) const {
  if (checkpoints_.size() == 1) return checkpoints_.front().read(kind, tensor, wanted, out);
  const auto numel = static_cast<std::size_t>(wanted.numel());
  const DType dtype = statistics_dtype(stored_dtype(kind, tensor));
  std::vector<double> sums(numel);
  std::vector<std::byte> buffer(numel * dtype_bytes(dtype));
  const Tensor values(buffer.data(), dtype, Shape{wanted.numel()}, Device::host());
  for (std::size_t i = 0; i < checkpoints_.size(); ++i) {
    checkpoints_[i].read(kind, tensor, wanted, values);
    dtype == DType::f64 ? add_scaled<double>(weights_[i], values.span<double>(), sums)
                        : add_scaled<float>(weights_[i], values.span<float>(), sums);
  }
  const double total = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (double& sum : sums) sum /= total;
  checkpoint::copy_elements(DType::f64, reinterpret_cast<const std::byte*>(sums.data()), out.dtype(),
                            out.raw(), wanted.numel());
}

ReadAccess ExportSource::readers() const {
  ReadAccess readers;
  for (const checkpoint::Reader& reader : checkpoints_) readers &= checkpoint::read_access_of(reader);
  return readers;
}

}  // namespace dt::convert
