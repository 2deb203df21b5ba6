#include "train/step/factored_update.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "optim/adafactor.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::train {

using parallel::FactoredParam;

namespace {

/// Return the values of a parameter's rows, or of its columns, among the values of all lines.
template <class T>
std::span<T> rows_of(const FactoredParam& param, std::span<T> lines) {
  return lines.subspan(static_cast<std::size_t>(param.first_row), static_cast<std::size_t>(param.num_rows()));
}
template <class T>
std::span<T> columns_of(const FactoredParam& param, std::span<T> lines) {
  return lines.subspan(static_cast<std::size_t>(param.first_column()),
                       static_cast<std::size_t>(param.num_columns()));
}

template <class T>
std::span<T> matrices_of(const FactoredParam& param, std::span<T> matrices) {
  return matrices.subspan(static_cast<std::size_t>(param.first_matrix),
                          static_cast<std::size_t>(param.matrices));
}

std::size_t index_of(const parallel::ModelStorage& storage, const char* name) {
  const std::optional<std::size_t> kind = storage.find_kind(name);
  DT_CHECK(kind, "the storage has no {}", name);
  return *kind;
}

}  // namespace

FactoredUpdate::FactoredUpdate(const Context& context, parallel::ModelStorage& storage,
                               const plan::ParameterSettings& settings)
    : context_(context),
      storage_(storage),
      layout_(storage.local()),
      row_kind_(index_of(storage, "adafactor_r")),
      column_kind_(index_of(storage, "adafactor_c")),
      vector_kind_(index_of(storage, "adafactor_v")) {
  DT_CHECK(context.device() == Device::host(), "second moments are factored on the host alone");
  DT_CHECK(!layout_.is_divided() || storage.ranks().stage(), "the ranks of a stage have no group");
  const parallel::LocalTable& local = storage.local();
  for (const FactoredParam& factored : layout_.params()) {
    const parallel::LocalParam& param = local.param(factored.param);
    params_.push_back({&factored, &param, settings.update_of(local.table(), param.param)});
  }
}

void FactoredUpdate::run(const kernels::OptimizerStep& step) {
  const Arena::Scope scope(context_.scratch());
  const Tensor lines = context_.scratch().allocate(DType::f64, {layout_.num_lines()}),
               sums = context_.scratch().allocate(DType::i64, {layout_.num_lines()});
  sum_lines(lines.span<double>(), sums.span<std::int64_t>());
  update_moments(step, lines.span<double>(), sums.span<std::int64_t>());
  const Norms norms = find_norms(step, lines.span<double>());
  for (const Param& param : params_) {
    std::vector<double> rates;
    for (std::int64_t m = 0; m < param.factored->matrices; ++m) {
      const auto matrix = static_cast<std::size_t>(param.factored->first_matrix + m);
      rates.push_back(param.own.lr_scale *
                      optim::update_rate(step, norms.weights[matrix], norms.directions[matrix]));
    }
    const kernels::OptimizerStep own = param.own.apply(step);
    const double decay = own.lr * own.settings.weight_decay;
    const Tensor masters = held(param, storage_.group_masters(param.local->group)).values;
    kernels::apply_factored_direction(context_, direction(param, step.grad_scale, lines.span<double>()),
                                      rates, decay, masters);
    if (storage_.precision().has_masters())
      kernels::cast(context_, masters, held(param, storage_.group_weights(param.local->group)).values);
  }
}

kernels::HeldElements FactoredUpdate::held(const Param& param, const Tensor& shard) const {
  return {param.local->owned_piece, param.factored->matrices, param.local->view_in_shard(shard)};
}

kernels::HeldElements FactoredUpdate::gradient(const Param& param) const {
  return held(param, storage_.group_gradient(param.local->group));
}

kernels::Direction FactoredUpdate::direction(const Param& param, double grad_scale,
                                             std::span<const double> lines) const {
  kernels::Direction direction{.gradient = gradient(param), .factor = grad_scale};
  if (param.factored->is_factored) {
    direction.row_factors_MR = rows_of(*param.factored, lines);
    direction.column_factors_MC = columns_of(*param.factored, lines);
  } else {
    direction.moments = storage_.param_state(*param.local, vector_kind_);
  }
  return direction;
}

void FactoredUpdate::exchange(const Tensor& values, Reduction reduction) const {
  if (!layout_.is_divided() || values.numel() == 0) return;
  storage_.ranks().exposed_time().measure(
      [&] { storage_.ranks().stage()->all_reduce(values, values, reduction).wait_host(); });
}

void FactoredUpdate::sum_lines(std::span<double> scales, std::span<std::int64_t> sums) const {
  std::ranges::fill(scales, 0);
  std::ranges::fill(sums, 0);
  for (const Param& param : params_) {
    if (param.factored->is_factored)
      kernels::find_line_maxima(context_, gradient(param), rows_of(*param.factored, scales),
                                columns_of(*param.factored, scales));
  }
  exchange(host_tensor(scales), Reduction::max);
  for (const Param& param : params_) {
    const FactoredParam& factored = *param.factored;
    if (!factored.is_factored) continue;
    const auto rows = rows_of(factored, scales), columns = columns_of(factored, scales);
    for (double& row : rows) row = kernels::line_scale(row, factored.columns);
    for (double& column : columns) column = kernels::line_scale(column, factored.rows);
    if (layout_.counts(factored))
      kernels::add_line_squares(context_, gradient(param), rows, columns, rows_of(factored, sums),
                                columns_of(factored, sums));
  }
  exchange(host_tensor(sums), Reduction::sum);
}

void FactoredUpdate::update_moments(const kernels::OptimizerStep& step, std::span<double> lines,
                                    std::span<const std::int64_t> sums) const {
  const double decay = optim::second_moment_decay(step), scale = step.grad_scale;
  const auto update = [&](const Tensor& moments, std::span<double> scales,
                          std::span<const std::int64_t> squares, std::int64_t length) {
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const double root = scales[i] == 0 ? 0 : scale / scales[i];
      scales[i] = static_cast<double>(squares[i]) * root * root / static_cast<double>(length);
    }
    optim::update_line_moments(scales, decay, moments);
  };
  for (const Param& param : params_) {
    const FactoredParam& factored = *param.factored;
    if (!factored.is_factored) {
      kernels::update_second_moments(context_, gradient(param).values,
                                     storage_.param_state(*param.local, vector_kind_), scale, decay,
                                     optim::moment_eps);
      continue;
    }
    const Tensor row_moments = storage_.param_state(*param.local, row_kind_),
                 column_moments = storage_.param_state(*param.local, column_kind_);
    const auto rows = rows_of(factored, lines), columns = columns_of(factored, lines);
    update(row_moments, rows, rows_of(factored, sums), factored.columns);
    update(column_moments, columns, columns_of(factored, sums), factored.rows);
    for (std::int64_t m = 0; m < factored.matrices; ++m) {
      const auto R = factored.rows, C = factored.columns;
      const auto part = [m](std::span<double> all, std::int64_t each) {
        return all.subspan(static_cast<std::size_t>(m * each), static_cast<std::size_t>(each));
      };
      optim::set_line_factors(row_moments.flat(m * R, R), column_moments.flat(m * C, C), part(rows, R),
                              part(columns, C));
    }
  }
}

FactoredUpdate::Norms FactoredUpdate::find_norms(const kernels::OptimizerStep& step,
                                                 std::span<const double> lines) const {
  const auto num_matrices = static_cast<std::size_t>(layout_.num_matrices());
  const bool clips = step.settings.clip_threshold > 0, scales = step.settings.scale_parameter;
  Norms norms{std::vector<double>(num_matrices), std::vector<double>(num_matrices)};
  const Arena::Scope scope(context_.scratch());
  const std::span<ExactSum> sums =
      kernels::allocate_sums(context_, optim::num_norms(step.settings) * layout_.num_matrices());
  const std::span<ExactSum> directions = sums.first(clips ? num_matrices : 0),
                            weights = sums.subspan(directions.size());
  for (const Param& param : params_) {
    if (!layout_.counts(*param.factored)) continue;
    if (clips)
      kernels::add_direction_squares(context_, direction(param, step.grad_scale, lines),
                                     matrices_of(*param.factored, directions));
    if (scales)
      kernels::add_direction_squares(context_,
                                     {.gradient = held(param, storage_.group_masters(param.local->group))},
                                     matrices_of(*param.factored, weights));
  }
  const std::vector<double> roots = root_means(sums);
  std::copy_n(roots.begin(), directions.size(), norms.directions.begin());
  std::copy_n(roots.end() - std::ssize(weights), weights.size(), norms.weights.begin());
  return norms;
}

std::vector<double> FactoredUpdate::root_means(std::span<ExactSum> sums) const {
  constexpr std::size_t each = ExactSum::num_digits + 1;
  if (layout_.is_divided() && !sums.empty()) {
    const Arena::Scope scope(context_.scratch());
    const Tensor digits =
        context_.scratch().allocate(DType::i64, {static_cast<std::int64_t>(each * sums.size())});
    const std::span<std::int64_t> all = digits.span<std::int64_t>();
    for (std::size_t i = 0; i < sums.size(); ++i)
      std::ranges::copy(sums[i].digits(), all.begin() + static_cast<std::ptrdiff_t>(i * each));
    exchange(digits, Reduction::sum);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = ExactSum();
      sums[i].add_digits(all.subspan(i * each).first<each>());
    }
  }
  std::vector<double> roots;
  for (std::size_t first = 0; first < sums.size();
       first += static_cast<std::size_t>(layout_.num_matrices())) {
    for (const Param& param : params_) {
      const FactoredParam& factored = *param.factored;
      for (const ExactSum& sum : matrices_of(factored, sums.subspan(first)))
        roots.push_back(std::sqrt(sum.value() / static_cast<double>(factored.rows * factored.columns)));
    }
  }
  return roots;
}

}  // namespace dt::train
