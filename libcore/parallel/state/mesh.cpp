#include "parallel/state/mesh.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "model/layers/feed_forward.hpp"

namespace dt::parallel {

namespace {

bool divides_heads(std::int64_t tp, const model::ModelSpec& spec) {
  return spec.query_heads % tp == 0 && (spec.key_value_heads % tp == 0 || tp % spec.key_value_heads == 0);
}

/// Returns whether each rank gets a row of every dim that may be split unevenly.
bool has_enough_rows(std::int64_t tp, const model::ModelSpec& spec) {
  return std::min(model::max_feed_forward_shards(spec), spec.vocabulary) >= tp;
}

bool is_possible(std::int64_t tp, const model::ModelSpec& spec) {
  return divides_heads(tp, spec) && has_enough_rows(tp, spec);
}

/// Returns the nearest tp below and, if there is one, above: "tp=4 or tp=8".
std::string nearest_tp(std::int64_t tp, const model::ModelSpec& spec) {
  std::int64_t below = std::min(tp, spec.query_heads), above = tp;
  while (!is_possible(below, spec)) --below;
  while (above <= spec.query_heads && !is_possible(above, spec)) ++above;
  const std::string text = fmt::format("tp={}", below);
  return above > spec.query_heads ? text : fmt::format("{} or tp={}", text, above);
}

/// Returns why tensor parallelism does not leave each rank its shard, or "".
std::string why_not_cut(std::int64_t tp, const model::ModelSpec& spec) {
  if (!divides_heads(tp, spec)) {
    return fmt::format(
        "tp={} does not fit {} query heads and {} key-value heads: tp must divide the query heads, and "
        "divide the key-value heads or be a multiple of them; use {}",
        tp, spec.query_heads, spec.key_value_heads, nearest_tp(tp, spec));
  }
  if (has_enough_rows(tp, spec)) return {};
  return fmt::format(
      "tp={} is too large for {} MLP features and a vocabulary of {}: each rank needs at least one of each; "
      "use {}",
      tp, model::max_feed_forward_shards(spec), spec.vocabulary, nearest_tp(tp, spec));
}

/// Returns the number that must divide the lengths of sequences. Each cp rank has two equal chunks.
/// If tp ranks divide the rows of these, each has as many as the others.
std::int64_t divisor_of_lengths(const model::Layout& mesh) {
  return mesh.cp * std::lcm(mesh.cp > 1 ? 2 : 1, mesh.sequence_parallel ? mesh.tp : 1);
}

/// Returns the nearest length below, and above if the model has positions for it: "--sequence-length 8".
std::vector<std::string> nearest_lengths(const model::Layout& mesh, const model::ModelSpec& spec,
                                         std::int64_t length) {
  const std::int64_t divisor = divisor_of_lengths(mesh), shorter = length - length % divisor;
  std::vector<std::string> lengths;
  if (shorter > 0) lengths.push_back(fmt::format("--sequence-length {}", shorter));
  if (shorter + divisor <= spec.max_positions)
    lengths.push_back(fmt::format("--sequence-length {}", shorter + divisor));
  return lengths;
}

/// Returns the largest number of fewer ranks that can divide sequences of that length, if any.
std::vector<std::string> fewer_parts(model::Layout mesh, std::int64_t length) {
  while (--mesh.cp > 0) {
    if (length % divisor_of_lengths(mesh) == 0) return {fmt::format("cp={}", mesh.cp)};
  }
  return {};
}

/// Returns "a, b or c".
std::string either(const std::vector<std::string>& options) {
  if (options.size() == 1) return options.front();
  return fmt::format("{} or {}", fmt::join(options.begin(), options.end() - 1, ", "), options.back());
}

/// Returns what a schedule requires of the number of virtual stages, or "" if the layout has it.
std::string why_not_scheduled(const model::Layout& layout) {
  using enum model::PipelineScheduleKind;
  const int number = layout.virtual_stages;
  const std::string name(name_of(layout.schedule));
  const std::string given =
      fmt::format("schedule={} does not support virtual-stages={}: it needs ", name, number);
  if (layout.schedule == interleaved)
    return number > 1 ? "" : given + "2 or more stages per rank; use virtual-stages=2 or schedule=1f1b";
  if (layout.schedule == zero_bubble)
    return number <= 2 ? "" : given + "1 or 2 (V-shaped) stages per rank; use virtual-stages=2";
  return number == 1 ? "" : given + "1 stage per rank; use schedule=interleaved or virtual-stages=1";
}

/// Returns layouts of fewer ranks, or of fewer stages on each.
std::string fewer_stages(const model::Layout& layout, int num_units) {
  const int ranks = num_units / layout.virtual_stages, stages = num_units / layout.pp;
  const std::string one = "schedule=1f1b,virtual-stages=1";
  if (ranks == 0 && stages == 0) return fmt::format("pp={},{}", num_units, one);
  const std::string fewer = stages > 1 ? fmt::format("virtual-stages={}", stages) : one;
  if (ranks == 0) return fewer;
  return fmt::format("pp={}{}", ranks, stages == 0 ? "" : " or " + fewer);
}

/// Returns why there are too many stages, or "". Each virtual stage holds at least one unit.
std::string why_too_many_stages(const model::Layout& layout, int num_units) {
  if (std::int64_t{layout.pp} * layout.virtual_stages <= num_units) return {};
  const std::string each =
      layout.virtual_stages == 1 ? "" : fmt::format(" with virtual-stages={}", layout.virtual_stages);
  return fmt::format(
      "pp={}{} needs at least {} units; the model has {} ({} block{}, embedding, head); use {}", layout.pp,
      each, std::int64_t{layout.pp} * layout.virtual_stages, num_units, num_units - 2,
      num_units == 3 ? "" : "s",
      layout.virtual_stages == 1 ? fmt::format("at most pp={}", num_units) : fewer_stages(layout, num_units));
}

}  // namespace

model::TensorParallelShard tensor_parallel_shard(const model::Layout& layout,
                                                 const model::MeshCoordinates& place) {
  return {place.tp, layout.tp, layout.sequence_parallel, place.cp, layout.cp};
}

ZeroSharding zero_sharding_of(const model::Layout& layout, const model::MeshCoordinates& place,
                              model::ReductionAxis axis) {
  if (layout.zero == 0) return {};
  const int size = layout.group_size(axis);
  return {layout.zero, layout.reduction_rank(place, axis) % size, size};
}

std::string layout_error(const model::Layout& mesh, const model::ModelSpec& spec) {
  if (const std::string why = why_not_scheduled(mesh); !why.empty()) return why;
  if (const std::string why = why_too_many_stages(mesh, static_cast<int>(spec.layers) + 2); !why.empty())
    return why;
  if (const std::string why = why_not_cut(mesh.tp, spec); !why.empty()) return why;
  if (const std::string why = model::expert_axis_error(mesh, spec); !why.empty()) return why;
  if (mesh.zero == 0 && mesh.zero_group != 0)
    return "zero-group has no effect without zero; add zero=1, 2 or 3";
  if (mesh.data_ranks() % mesh.group_size() != 0) {
    return fmt::format("zero-group={} does not divide dp={}{}", mesh.zero_group, mesh.dp,
                       mesh.cp > 1 ? fmt::format(" × cp={}", mesh.cp) : "");
  }
  if (mesh.group_size() % mesh.ep != 0 && mesh.ep % mesh.group_size() != 0)
    return fmt::format("zero-group={} does not fit ep={}: one must divide the other", mesh.zero_group,
                       mesh.ep);
  return {};
}

std::string sequence_length_error(const model::Layout& mesh, const model::ModelSpec& spec,
                                  std::int64_t sequence_length) {
  const std::int64_t chunks = std::int64_t{2} * mesh.cp, part = sequence_length / mesh.cp;
  std::vector<std::string> alternatives = nearest_lengths(mesh, spec, sequence_length);
  if (mesh.cp > 1 && sequence_length % chunks != 0) {
    const std::vector<std::string> fewer = fewer_parts(mesh, sequence_length);
    alternatives.insert(alternatives.begin(), fewer.begin(), fewer.end());
    if (alternatives.empty()) alternatives = {"cp=1,sp=off"};
    return fmt::format(
        "cp={} does not divide sequences of {} tokens into {} equal chunks, two for each rank; use {}",
        mesh.cp, sequence_length, chunks, either(alternatives));
  }
  if (!mesh.sequence_parallel || part % mesh.tp == 0) return {};
  std::int64_t tp = mesh.tp - 1;
  while (part % tp != 0 || !is_possible(tp, spec)) --tp;
  alternatives.insert(alternatives.begin(), fmt::format("tp={}", tp));
  alternatives.emplace_back("sp=off");
  const std::string rows = mesh.cp == 1
                               ? fmt::format("sequences of {} tokens", sequence_length)
                               : fmt::format("the {} tokens of each rank (sequence length {}, cp={})", part,
                                             sequence_length, mesh.cp);
  return fmt::format("sp=on needs tp={} to divide {}; use {}", mesh.tp, rows, either(alternatives));
}

Piece shard_piece(const model::ParamSpec& param, const model::Layout& layout,
                  const model::MeshCoordinates& place) {
  Piece piece = Piece::whole(param.shape);
  std::vector<std::int64_t> extents = piece.box.dims();
  for (const model::Split& split : param.splits) {
    const bool is_tensor = split.axis == model::SplitAxis::tensor;
    const int num_ranks = is_tensor ? layout.tp : layout.ep;
    const int rank = is_tensor ? place.tp : layout.expert_rank(place);
    const auto shards = static_cast<int>(std::min<std::int64_t>(split.max_shards, num_ranks));
    const Range own = even_range(shard_index(split.max_shards, num_ranks, rank), shards, split.max_shards);
    const std::int64_t unit = param.shape[split.dim] / split.max_shards;
    piece.start[to_index(split.dim)] = own.begin * unit;
    extents[to_index(split.dim)] = own.count * unit;
  }
  piece.box = Shape(extents);
  piece.end = piece.box.numel();
  return piece;
}

int shard_index(std::int64_t max_shards, int num_ranks, int rank) {
  return max_shards < num_ranks ? static_cast<int>(rank * max_shards / num_ranks) : rank;
}

bool owns_shard(const model::ParamSpec& param, const model::Layout& layout,
                const model::MeshCoordinates& place) {
  const model::Split* split = param.split_along(model::SplitAxis::tensor);
  if (!split || place.tp == 0) return place.tp == 0;
  return shard_index(split->max_shards, layout.tp, place.tp) !=
         shard_index(split->max_shards, layout.tp, place.tp - 1);
}

TensorSum tensor_sum_of(const model::ParamSpec& param, const model::Layout& layout) {
  if (layout.tp == 1) return TensorSum::none;
  const model::Split* split = param.split_along(model::SplitAxis::tensor);
  if (!split)
    return layout.sequence_parallel || param.sums_over_tensor_ranks ? TensorSum::all : TensorSum::none;
  return split->max_shards < layout.tp ? TensorSum::replicas : TensorSum::none;
}

}  // namespace dt::parallel
