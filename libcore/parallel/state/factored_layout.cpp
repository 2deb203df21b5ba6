#include "parallel/state/factored_layout.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/numeric/exact_sum.hpp"
#include "kernels/factored_moments.hpp"
#include "model/parameter_scope.hpp"

namespace dt::parallel {

FactoredLayout::FactoredLayout(const LocalTable& local) : local_(local) {
  const model::Layout& layout = local.layout();
  is_divided_ = layout.tp > 1 || layout.ep > 1 || layout.zero > 0;
  for (int index = 0; index < static_cast<int>(local.params().size()); ++index) {
    const LocalParam& param = local.param(index);
    if (!local.group(param.group).has_state) continue;
    const model::ParamSpec& spec = local.spec(param);
    const model::Split* const experts = spec.split_along(model::SplitAxis::expert);
    DT_CHECK(!experts || experts->dim == 0, "{}: experts are not the first dim", spec.name);
    FactoredParam& factored = params_.emplace_back();
    factored.param = index;
    factored.is_factored = model::is_in_scope(local.table(), param.param, model::ParameterScope::matrices);
    factored.matrices = experts && spec.shape.rank() > 1 ? spec.shape[0] : 1;
    factored.columns = spec.shape[spec.shape.rank() - 1];
    factored.rows = spec.shape.numel() / factored.columns / factored.matrices;
    factored.first_row = num_lines_;
    factored.first_matrix = num_matrices_;
    num_lines_ += factored.num_rows() + factored.num_columns();
    num_matrices_ += factored.matrices;
  }
  is_divided_ = is_divided_ && num_matrices_ > 0 && layout.size() > layout.pp;
}

bool FactoredLayout::counts(const FactoredParam& param) const {
  const LocalParam& own = local_.param(param.param);
  return !is_divided_ || (own.is_owned && local_.group(own.group).replica == 0);
}

int FactoredLayout::elements_of_sum() {
  return ExactSum::num_digits + 1;
}

std::int64_t FactoredLayout::exchanged_bytes(int sums) const {
  constexpr std::int64_t element = sizeof(std::int64_t);  // a double has the same size
  return is_divided_ ? element * (2 * num_lines_ + sums * num_matrices_ * elements_of_sum()) : 0;
}

std::size_t FactoredLayout::scratch_bytes(int threads) const {
  const auto aligned = [](std::size_t bytes) { return round_up(bytes, std::size_t{64}); };
  const std::int64_t num_sums = 2 * num_matrices_;
  std::size_t most = is_divided_ ? aligned(storage_bytes(DType::f64, num_sums * elements_of_sum())) : 0;
  for (const FactoredParam& param : params_)
    most = std::max(most, kernels::factored_scratch_bytes(threads, param.matrices,
                                                          param.is_factored ? param.columns : 0));
  return 2 * aligned(storage_bytes(DType::f64, num_lines_)) + aligned(kernels::sums_bytes(num_sums)) + most;
}

}  // namespace dt::parallel
