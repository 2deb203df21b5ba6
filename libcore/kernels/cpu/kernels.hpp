#pragma once
// The fast CPU kernels: fp32 and 16-bit floats, with threads and vectors. They have the public
// functions' signatures, and their arguments have been checked.

#include "kernels/activation.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/attention.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/head_norm.hpp"
#include "kernels/linear.hpp"
#include "kernels/newton_schulz.hpp"
#include "kernels/norm.hpp"
#include "kernels/optimizer_step.hpp"
#include "kernels/rotary.hpp"
#include "kernels/softcap.hpp"

namespace dt::kernels::cpu {

decltype(kernels::linear) linear;
decltype(kernels::linear_backward_input) linear_backward_input;
decltype(kernels::linear_backward_weight) linear_backward_weight;
decltype(kernels::bias_backward) bias_backward;
decltype(kernels::measure_matmul_rate) measure_matmul_rate;

decltype(kernels::layer_norm) layer_norm;
decltype(kernels::layer_norm_backward) layer_norm_backward;
decltype(kernels::rms_norm) rms_norm;
decltype(kernels::rms_norm_backward) rms_norm_backward;

decltype(kernels::head_norm_squares) head_norm_squares;
decltype(kernels::head_norm) head_norm;
decltype(kernels::head_norm_products) head_norm_products;
decltype(kernels::head_norm_backward) head_norm_backward;

decltype(kernels::activation) activation;
decltype(kernels::activation_backward) activation_backward;
decltype(kernels::gated_activation) gated_activation;
decltype(kernels::gated_activation_backward) gated_activation_backward;

decltype(kernels::attention) attention;
decltype(kernels::attention_backward) attention_backward;
decltype(kernels::merge_attention) merge_attention;
decltype(kernels::rotary) rotary;

decltype(kernels::embedding) embedding;
decltype(kernels::embedding_backward) embedding_backward;

decltype(kernels::cross_entropy) cross_entropy;
decltype(kernels::cross_entropy_gradient) cross_entropy_gradient;
decltype(kernels::cross_entropy_partial) cross_entropy_partial;
decltype(kernels::cross_entropy_gradient_from_partials) cross_entropy_gradient_from_partials;

decltype(kernels::scale_and_softcap) scale_and_softcap;

decltype(kernels::add) add;
decltype(kernels::add_bias_residual) add_bias_residual;
decltype(kernels::scale_add) scale_add;
decltype(kernels::accumulate) accumulate;
decltype(kernels::cast) cast;
decltype(kernels::cast_columns) cast_columns;
decltype(kernels::copy) copy;
decltype(kernels::zero) zero;
decltype(kernels::sum_squares_by_block) sum_squares_by_block;

decltype(kernels::optimizer_step) optimizer_step;
/// Makes AdamW's update if the states are bf16.
decltype(kernels::optimizer_step) update_rounded_states;
decltype(kernels::newton_schulz) newton_schulz;

}  // namespace dt::kernels::cpu
