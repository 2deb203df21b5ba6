#include "gpu/bytes.hpp"

#include <array>
#include <functional>

#include "gpu/measure.hpp"
#include "kernels/activation.hpp"
#include "kernels/attention.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"
#include "kernels/norm.hpp"
#include "kernels/optimizer_step.hpp"
#include "kernels/rotary.hpp"
#include "kernels/softcap.hpp"

namespace dt::test_device {

namespace {

// Legend: R rows, C hidden, F feed-forward, V vocabulary, D head dim; N parameters, as many as R rows of C.
constexpr std::int64_t C = 2048, F = 4 * C, V = 50257, D = 128;

/// Measures kernels on R rows, and frees their tensors after each.
class Rates {
 public:
  Rates(const Context& context, std::int64_t rows, int times) : R(rows), measure_(context, times) {}

  Tensor tensor(Shape shape, DType dtype = DType::bf16) { return measure_.tensor(std::move(shape), dtype); }
  Tensor like_rows(std::int64_t columns) { return tensor({R, columns}); }

  /// Measures a kernel that moves `moved` bytes for each row.
  void of(const char* kernel, std::int64_t moved, const std::function<void()>& run) {
    all.push_back({kernel, static_cast<double>(R * moved), measure_.seconds(run)});
    measure_.clear();
  }

  const std::int64_t R;
  std::vector<Rate> all;

 private:
  Measure measure_;
};

void of_elements(const Context& context, Rates& rates) {
  const std::int64_t R = rates.R;
  const Tensor from = rates.like_rows(C), to = rates.like_rows(C);
  rates.of("copy", 4 * C, [=, &context] { kernels::copy(context, from, to); });
  const Tensor a = rates.like_rows(C), b = rates.like_rows(C);
  rates.of("add", 6 * C, [=, &context] { kernels::add(context, a, b, b); });
  const Tensor x = rates.like_rows(C), residual = rates.like_rows(C);
  rates.of("scale_add", 6 * C, [=, &context] { kernels::scale_add(context, 0.3, x, residual, residual); });
  const Tensor wide = rates.tensor({R, C}, DType::f32), narrow = rates.like_rows(C);
  rates.of("convert", 6 * C, [=, &context] { kernels::cast(context, wide, narrow); });
  const Tensor values = rates.tensor({R * C}, DType::f32),
               partials = rates.tensor({kernels::num_sum_blocks(R * C)}, DType::f64);
  rates.of("sum_squares_by_block", 4 * C,
           [=, &context] { kernels::sum_squares_by_block(context, values, partials); });
}

void of_optimizer(const Context& context, Rates& rates) {
  for (const DType moments : {DType::f32, DType::bf16}) {
    const auto parameters = [&](DType dtype) { return rates.tensor({rates.R * C}, dtype); };
    const Tensor w = parameters(DType::f32), g = parameters(DType::f32), m = parameters(moments),
                 v = parameters(moments), copy = parameters(DType::bf16);
    const kernels::OptimizerStep step{.settings = {}, .lr = 1e-3, .step = 1, .grad_scale = 1};
    const bool is_rounded = moments == DType::bf16;
    rates.of(is_rounded ? "adamw, bf16 moments" : "adamw", (is_rounded ? 22 : 30) * C, [=, &context] {
      kernels::optimizer_step(context, step, w, g, std::array{m, v}, copy);
    });
  }
}

void of_norms(const Context& context, Rates& rates) {
  const std::int64_t R = rates.R;
  for (const bool is_backward : {false, true}) {
    const Tensor x = rates.like_rows(C), dy = rates.like_rows(C), around = rates.like_rows(C);
    const Tensor w = rates.tensor({C}), dw = rates.tensor({C}, DType::f32),
                 db = rates.tensor({C}, DType::f32);
    const Tensor mean = rates.tensor({R}, DType::f32), rstd = rates.tensor({R}, DType::f32);
    if (is_backward)
      rates.of("layer_norm_backward", 8 * C, [=, &context] {
        kernels::layer_norm_backward(context, dy, x, w, mean, rstd, around, around, dw, db);
      });
    else
      rates.of("layer_norm", 4 * C,
               [=, &context] { kernels::layer_norm(context, x, w, w, 1e-5, dy, mean, rstd); });
  }
  const Tensor dy = rates.like_rows(C), db = rates.tensor({C}, DType::f32);
  rates.of("bias_backward", 2 * C, [=, &context] { kernels::bias_backward(context, dy, db); });
}

void of_activations(const Context& context, Rates& rates) {
  const Tensor x = rates.like_rows(F), y = rates.like_rows(F);
  rates.of("gelu", 4 * F, [=, &context] { kernels::activation(context, kernels::Activation::gelu, x, y); });
  const Tensor dy = rates.like_rows(F), up = rates.like_rows(F);
  rates.of("gelu_backward", 6 * F,
           [=, &context] { kernels::activation_backward(context, kernels::Activation::gelu, dy, up, up); });
  const Tensor both = rates.like_rows(2 * F), hidden = rates.like_rows(F);
  rates.of("swiglu", 6 * F,
           [=, &context] { kernels::gated_activation(context, kernels::Activation::silu, both, hidden); });
  const Tensor dhidden = rates.like_rows(F), dboth = rates.like_rows(2 * F);
  rates.of("swiglu_backward", 10 * F, [=, &context] {
    kernels::gated_activation_backward(context, kernels::Activation::silu, dhidden, dboth, dboth);
  });
}

void of_heads(const Context& context, Rates& rates) {
  const std::int64_t R = rates.R;
  const kernels::AttentionShape shape{1, R, C / D, C / D, D};
  const Tensor qkv = rates.like_rows(3 * C), positions = rates.tensor({R}, DType::i32),
               table = rates.tensor({1, D / 2}, DType::f32);
  rates.of("rotary", 8 * C, [=, &context] {
    kernels::rotary(context, shape, positions, {table, table}, false, qkv);
  });
  const auto logits_of = [&] {
    return rates.like_rows(kernels::row_pitch(context.device(), V)).first_columns(V);
  };
  for (const kernels::LossGradient& gradient :
       {kernels::LossGradient{1}, kernels::LossGradient{1, 1e-4, 30}}) {
    const Tensor logits = logits_of(), labels = rates.tensor({R}, DType::i32),
                 nll = rates.tensor({R}, DType::f64);
    const char* const name =
        gradient.softcap > 0 ? "cross_entropy_gradient, capped" : "cross_entropy_gradient";
    rates.of(name, 4 * V,
             [=, &context] { kernels::cross_entropy_gradient(context, labels, gradient, nll, logits); });
  }
  const Tensor logits = logits_of();
  rates.of("scale_and_softcap", 4 * V,
           [=, &context] { kernels::scale_and_softcap(context, 0.5, 30, logits); });
}

}  // namespace

std::vector<Rate> kernel_rates(const Context& context, std::int64_t num_rows, int times) {
  Rates rates(context, num_rows, times);
  of_elements(context, rates);
  of_optimizer(context, rates);
  of_norms(context, rates);
  of_activations(context, rates);
  of_heads(context, rates);
  return rates.all;
}

}  // namespace dt::test_device
