#include "model/layers/residual_branch.hpp"

#include "kernels/elementwise.hpp"

namespace dt::model {

BranchForm attention_branch_form(const ModelSpec& spec) {
  return {.normalises_input = spec.norm_placement != NormPlacement::after,
          .normalises_output = spec.norm_placement != NormPlacement::before,
          .scale = spec.residual_scale};
}

BranchForm feed_forward_branch_form(const ModelSpec& spec) {
  BranchForm form = attention_branch_form(spec);
  form.normalises_input = form.normalises_input && !spec.shared_norm;
  return form;
}

ResidualBranch::ResidualBranch(const ModelSpec& spec, BranchForm form, DType dtype)
    : form_(form), hidden_(spec.hidden), dtype_(dtype), norm_(spec, statistics_dtype(dtype)) {}

std::size_t ResidualBranch::num_norm_params() const {
  return norm_.num_params() * ((form_.normalises_input ? 1 : 0) + (form_.normalises_output ? 1 : 0));
}

ResidualBranch::Params ResidualBranch::params(std::span<const Tensor> tensors) const {
  const std::size_t input = form_.normalises_input ? norm_.num_params() : 0,
                    output = form_.normalises_output ? norm_.num_params() : 0;
  return {tensors.first(input), tensors.subspan(input, tensors.size() - input - output),
          tensors.last(output)};
}

ResidualBranch::Saved ResidualBranch::saved(BumpAllocator& memory, BumpAllocator& recomputed,
                                            std::int64_t local_rows) const {
  Saved s;
  if (form_.normalises_input) {
    s.in_LC = recomputed.allocate(dtype_, {local_rows, hidden_});
    s.input_norm = norm_.saved(memory, local_rows);
  }
  if (form_.normalises_output) {
    s.out_LC = memory.allocate(dtype_, {local_rows, hidden_});
    s.output_norm = norm_.saved(memory, local_rows);
  }
  return s;
}

void ResidualBranch::add_backward_handoff(BumpAllocator& backward_handoff, std::int64_t local_rows,
                                          Saved& saved) const {
  if (scales() && !form_.normalises_output)
    saved.out_LC = backward_handoff.allocate(dtype_, {local_rows, hidden_});
}

void ResidualBranch::normalise_input(const Context& context, const Params& weights, const Tensor& x_LC,
                                     const Saved& saved) const {
  if (form_.normalises_input) norm_.forward(context, weights.input_norm, x_LC, saved.in_LC, saved.input_norm);
}

void ResidualBranch::forward(const Context& context, const Params& weights, const Tensor& residual_LC,
                             const Tensor& y_LC, const Saved& saved, const Layer& layer) const {
  if (!form_.normalises_output && !scales()) return layer(residual_LC, y_LC);
  const Arena::Scope scope(context.scratch());
  Tensor branch_LC = y_LC;
  if (form_.normalises_output) {
    layer({}, saved.out_LC);
    if (!branch_LC) branch_LC = context.scratch().allocate(dtype_, saved.out_LC.shape());
    norm_.forward(context, weights.output_norm, saved.out_LC, branch_LC, saved.output_norm);
  } else {
    layer({}, branch_LC);
  }
  if (y_LC) kernels::scale_add(context, form_.scale, branch_LC, residual_LC, y_LC);
}

Tensor ResidualBranch::output_gradient(const Context& context, const Params& weights, const Tensor& dy_LC,
                                       const Tensor& temporary_LC, const Saved& saved) const {
  if (!form_.normalises_output && !scales()) return dy_LC;
  Tensor dbranch_LC = dy_LC;
  if (scales()) {
    dbranch_LC = form_.normalises_output ? temporary_LC : saved.out_LC;
    kernels::scale_add(context, form_.scale, dy_LC, {}, dbranch_LC);
  }
  if (form_.normalises_output)
    norm_.backward_input(context, weights.output_norm, saved.out_LC, dbranch_LC, {}, saved.out_LC,
                         saved.output_norm);
  return saved.out_LC;
}

void ResidualBranch::input_gradient(const Context& context, const Params& weights, const Tensor& x_LC,
                                    const Tensor& din_LC, const Tensor& dresidual_LC, const Tensor& dx_LC,
                                    const Saved& saved) const {
  if (form_.normalises_input)
    norm_.backward_input(context, weights.input_norm, x_LC, din_LC, dresidual_LC, dx_LC, saved.input_norm);
  else if (dresidual_LC)
    kernels::add(context, dresidual_LC, din_LC, dx_LC);
  else if (dx_LC.raw() != din_LC.raw())
    kernels::copy(context, din_LC, dx_LC);
}

void ResidualBranch::backward_weight(const Context& context, const Params& grads, const Saved& saved) const {
  if (form_.normalises_input) norm_.backward_weight(context, grads.input_norm, saved.input_norm);
  if (form_.normalises_output) norm_.backward_weight(context, grads.output_norm, saved.output_norm);
}

}  // namespace dt::model
