#include "train/step/qk_clip.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "kernels/elementwise.hpp"

namespace dt::train {

namespace {

constexpr double lowest = -std::numeric_limits<double>::infinity();

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// Returns the layers of the blocks that a rank has.
std::vector<std::int64_t> layers_of(const parallel::LocalTable& local) {
  std::vector<std::int64_t> layers;
  for (const int unit : local.units()) {
    const model::UnitSpec& spec = local.table().units()[to_index(unit)];
    if (spec.kind == model::UnitKind::block) layers.push_back(spec.layer);
  }
  return layers;
}

}  // namespace

QkClip::QkClip(const Context& context, parallel::ModelStorage& storage, const model::ModelSpec& spec,
               double threshold)
    : context_(context),
      storage_(storage),
      layers_(spec.layers),
      heads_(spec.query_heads),
      head_dim_(spec.head_dim),
      local_heads_(spec.query_heads / storage.local().layout().tp),
      shares_keys_(spec.key_value_heads < spec.query_heads),
      threshold_(threshold),
      block_layers_(layers_of(storage.local())),
      memory_(Device::host(), storage_bytes(statistics_dtype(storage.precision().compute),
                                            std::ssize(block_layers_) * local_heads_)),
      scores_LH_(memory_, statistics_dtype(storage.precision().compute),
                 {std::ssize(block_layers_), local_heads_}) {
  DT_CHECK(threshold > 0, "a threshold of {} for scores", threshold);
  const parallel::LocalTable& local = storage.local();
  for (const std::int64_t layer : block_layers_) {
    for (const bool is_of_queries : {true, false}) {
      if (!is_of_queries && shares_keys_) continue;
      for (const char* tensor : {"weight", "bias"}) {
        const int number = local.table().find(
            fmt::format("layers.{}.attention.{}.{}", layer, is_of_queries ? "q" : "k", tensor));
        const auto param = std::ranges::find(local.params(), number, &parallel::LocalParam::param);
        if (param == local.params().end() || param->owned_piece.numel() == 0) continue;
        projections_.push_back({&*param, layer, is_of_queries});
      }
    }
  }
}

void QkClip::start_step() {
  if (scores_LH_.numel() > 0) kernels::fill(context_, lowest, scores_LH_);
}

Tensor QkClip::max_scores(int unit) const {
  const std::int64_t layer = storage_.local().table().units()[to_index(unit)].layer;
  const auto found = std::ranges::lower_bound(block_layers_, layer);
  DT_CHECK(found != block_layers_.end() && *found == layer, "unit {} is no block of this rank", unit);
  return scores_LH_.flat((found - block_layers_.begin()) * local_heads_, local_heads_);
}

std::vector<double> QkClip::all_scores() const {
  std::vector<double> all(index(layers_ * heads_), lowest);
  const std::int64_t first_head = storage_.local().place().tp * local_heads_;
  for (std::int64_t i = 0; i < scores_LH_.numel(); ++i) {
    const std::int64_t layer = block_layers_[index(i / local_heads_)];
    all[index(layer * heads_ + first_head + i % local_heads_)] =
        scores_LH_.dtype() == DType::f64 ? scores_LH_.data<double>()[i] : double{scores_LH_.data<float>()[i]};
  }
  return all;
}

optim::AttentionScores QkClip::summarize(std::span<const double> max_scores) const {
  return {std::ranges::max(max_scores),
          std::ranges::count_if(max_scores, [&](double score) { return score > threshold_; })};
}

void QkClip::scale_weights(std::span<const double> max_scores) const {
  for (const Projection& projection : projections_)
    scale(projection, max_scores.subspan(index(projection.layer * heads_), index(heads_)));
}

/// Scales a projection, whose rows belong to one head after the other.
void QkClip::scale(const Projection& projection, std::span<const double> max_scores_of_layer) const {
  const parallel::LocalParam& param = *projection.param;
  const Piece& held = param.owned_piece;
  const std::int64_t num_rows = held.box[0], head_elements = held.box.numel() / num_rows * head_dim_;
  for (std::int64_t head = 0; head < num_rows / head_dim_; ++head) {
    const double score = max_scores_of_layer[index(held.start[0] / head_dim_ + head)];
    const optim::QkClipFactors factors = optim::qk_clip_factors(score, threshold_, shares_keys_);
    const std::int64_t begin = std::max(held.begin, head * head_elements),
                       end = std::min(held.end, (head + 1) * head_elements);
    if (!(score > threshold_) || begin >= end) continue;
    const auto elements = [&](const Tensor& shard) {
      return shard.flat(param.owned_offset + begin - held.begin, end - begin);
    };
    const Tensor masters = elements(storage_.group_masters(param.group));
    kernels::scale_add(context_, projection.is_of_queries ? factors.query : factors.key, masters, {},
                       masters);
    if (storage_.precision().has_masters())
      kernels::cast(context_, masters, elements(storage_.group_weights(param.group)));
  }
}

}  // namespace dt::train
