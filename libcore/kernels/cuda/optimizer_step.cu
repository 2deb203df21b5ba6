#include "kernels/cuda/launch/elements.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/vec.cuh"
#include "kernels/optimizer_rules.hpp"
#include "kernels/optimizer_step.hpp"

namespace dt::kernels::cuda {

namespace {

/// The weights and the states behind them.
template <class W, int size>
struct UpdatedTensors {
  W* at[size];
};

/// Updates elements. `copy` may be null.
template <class Rule, class W, class G, class T>
__global__ void update_elements(Rule rule, UpdatedTensors<W, 1 + Rule::num_states> tensors, const G* grad,
                                T* copy, std::int64_t count) {
  constexpr int N = vec_size<W>, size = 1 + Rule::num_states;
  for_vecs<N>(count, [&](std::int64_t i, std::int64_t left) {
    const auto gradient = load_vec<N>(grad + i, left);
    Vec<W, N> values[size];
    for (int k = 0; k < size; ++k) values[k] = load_vec<N>(tensors.at[k] + i, left);
    for (int e = 0; e < N; ++e) {
      W element[size];
      for (int k = 0; k < size; ++k) element[k] = values[k].at[e];
      rule(gradient.at[e], element[0], element + 1);
      for (int k = 0; k < size; ++k) values[k].at[e] = element[k];
    }
    for (int k = 0; k < size; ++k) store_vec<N>(tensors.at[k] + i, left, values[k]);
    if (copy != nullptr) store_vec<N>(copy + i, left, values[0]);
  });
}

/// Calls body(T()) with the type of a copy of weights of type W, or with W() if there is no copy.
/// Errors: internal, the copy is no narrow float beside fp32.
template <class W, class Body>
void with_copies(const Tensor& copy, const Body& body) {
  if (!copy) return body(W());
  if constexpr (std::is_same_v<W, float>)
    visit_dtype(NarrowFloatTypes(), copy.dtype(), "GPU kernel for copies", body);
  else
    throw_unsupported(copy.dtype(), "GPU kernel for copies");
}

}  // namespace

void optimizer_step(const Context& context, const OptimizerStep& step, const Tensor& w, const Tensor& grad,
                    std::span<const Tensor> states, const Tensor& copy) {
  with_parameter_gradients(grad.dtype(), [&](auto gradient) {
    using G = decltype(gradient);
    using W = Value<G>;
    const auto set = [](double factor) { return static_cast<W>(factor); };
    with_rule<W>(step, set, [&](const auto& rule) {
      using Rule = std::remove_cvref_t<decltype(rule)>;
      UpdatedTensors<W, 1 + Rule::num_states> tensors{{w.data<W>()}};
      for (int k = 0; k < Rule::num_states; ++k)
        tensors.at[k + 1] = states[static_cast<std::size_t>(k)].template data<W>();
      with_copies<W>(copy, [&](auto element) {
        using T = decltype(element);
        launch(context, name_of(step.settings.kind).data(), grid_for_vecs(vec_size<W>, w.numel()),
               update_elements<Rule, W, G, T>, rule, tensors, grad.data<G>(), elements<T>(copy), w.numel());
      });
    });
  });
}

}  // namespace dt::kernels::cuda
