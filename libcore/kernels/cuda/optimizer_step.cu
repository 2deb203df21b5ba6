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

/// Returns the random words of the elements from i on. If they are one block of Philox, as most are, one call
/// of Philox makes them. Words are selected by constant indices: registers have no addresses.
__device__ inline Vec<std::uint32_t, 4> words_from(const RoundingBits& bits, std::int64_t i) {
  const ElementIndices& elements = bits.elements;
  Vec<std::uint32_t, 4> words{};
  if (elements.begin + i + 4 <= elements.row || elements.left_in_row(i) >= 4) {
    const std::int64_t index = elements.index(i);
    const PhiloxWords first = philox(bits.counter(index / 4), bits.key);
    PhiloxWords second = first;
    if (index % 4 != 0) second = philox(bits.counter(index / 4 + 1), bits.key);
    const bool odd = (index & 1) != 0, late = (index & 2) != 0;
    const std::uint32_t moved[] = {odd ? first[1] : first[0],   odd ? first[2] : first[1],
                                   odd ? first[3] : first[2],   odd ? second[0] : first[3],
                                   odd ? second[1] : second[0], odd ? second[2] : second[1]};
    for (int e = 0; e < 4; ++e) words.at[e] = late ? moved[e + 2] : moved[e];
    return words;
  }
  for (int e = 0; e < 4; ++e) {
    const std::int64_t index = elements.index(i + e);
    const PhiloxWords drawn = philox(bits.counter(index / 4), bits.key);
    const std::uint32_t low = (index & 1) != 0 ? drawn[1] : drawn[0],
                        high = (index & 1) != 0 ? drawn[3] : drawn[2];
    words = {{words.at[1], words.at[2], words.at[3], (index & 2) != 0 ? high : low}};
  }
  return words;
}

/// Updates elements whose moments are bf16. `copy` may be null.
template <class G, class T>
__global__ void update_rounded_states(AdamW<float> rule, RoundingBits bits, float* w, const G* grad,
                                      BFloat16* m, BFloat16* v, T* copy, std::int64_t count) {
  constexpr int N = vec_size<float>;
  for_vecs<N>(count, [&](std::int64_t i, std::int64_t left) {
    const auto gradient = load_vec<N>(grad + i, left);
    auto weights = load_vec<N>(w + i, left), first = load_vec<N>(m + i, left),
         second = load_vec<N>(v + i, left);
    const Vec<std::uint32_t, N> words = words_from(bits, i);
    for (int e = 0; e < N; ++e) {
      float moments[] = {first.at[e], second.at[e]};
      rule(gradient.at[e], weights.at[e], moments);
      const std::uint32_t word = words.at[e];
      first.at[e] = bf16_to_f32(round_stochastically(moments[0], word));
      second.at[e] = bf16_to_f32(round_stochastically(moments[1], word >> 16));
    }
    store_vec<N>(w + i, left, weights);
    store_vec<N>(m + i, left, first);
    store_vec<N>(v + i, left, second);
    if (copy != nullptr) store_vec<N>(copy + i, left, weights);
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

/// Makes AdamW's update if the moments are bf16.
void update_rounding(const Context& context, const OptimizerStep& step, const Tensor& w, const Tensor& grad,
                     std::span<const Tensor> states, const Tensor& copy) {
  const AdamW<float> rule(step, [](double factor) { return static_cast<float>(factor); });
  visit_dtype(Joined<TypeList<float>, NarrowGradientTypes>(), grad.dtype(), "GPU kernel for gradients",
              [&](auto gradient) {
                using G = decltype(gradient);
                with_copies<float>(copy, [&](auto element) {
                  using T = decltype(element);
                  launch(context, "adamw_bf16", grid_for_vecs(vec_size<float>, w.numel()),
                         update_rounded_states<G, T>, rule, step.rounding_bits(), w.data<float>(),
                         grad.data<G>(), states[0].data<BFloat16>(), states[1].data<BFloat16>(),
                         elements<T>(copy), w.numel());
                });
              });
}

}  // namespace

void optimizer_step(const Context& context, const OptimizerStep& step, const Tensor& w, const Tensor& grad,
                    std::span<const Tensor> states, const Tensor& copy) {
  if (!states.empty() && states.front().dtype() == DType::bf16)
    return update_rounding(context, step, w, grad, states, copy);
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
