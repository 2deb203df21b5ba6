// Builds cuDNN's graphs. The front end knows, by the library's version and the GPU, what cuDNN's
// kernels for attention take, and what they lack.
// Source: NVIDIA cuDNN documentation, "Attention" (scaled dot product attention).
#include "kernels/cuda/attention/cudnn/graphs.cuh"

#include <cmath>

#include "base/numeric/visit_dtype.hpp"

namespace dt::kernels::cuda {

namespace {

namespace fe = cudnn_frontend;
using TensorPointer = std::shared_ptr<fe::graph::Tensor_attributes>;
using GraphPointer = std::shared_ptr<fe::graph::Graph>;
using Dimensions = std::vector<std::int64_t>;

FusedProblem::Strides strides_of(const QueriesKeysValues& qkv) {
  return {qkv.q.rows_RS.dim(1), qkv.k.rows_RS.dim(1), qkv.v.rows_RS.dim(1)};
}

void* address(const Columns& columns) {
  return columns.rows_RS.raw() +
         static_cast<std::size_t>(columns.first) * dtype_bytes(columns.rows_RS.dtype());
}

fe::DataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return fe::DataType_t::BFLOAT16;
    case DType::f16:
      return fe::DataType_t::HALF;
    default:
      throw_unsupported(dtype, "attention of cuDNN");
  }
}

constexpr std::int64_t lse_alignment = 4;  // a chunk of heads may begin at any element

/// The rows of heads, of B sequences of `rows` rows: as cuDNN orders dimensions.
struct Heads {
  std::int64_t heads, rows, stride;
};

/// The part of a graph that caps scores. cuDNN does not mask scores of such graphs by a diagonal, so
/// that this part does.
class SoftCap {
 public:
  SoftCap(float cap, bool is_causal) : cap_(cap), is_causal_(is_causal) {}

  /// Adds cap · tanh(products), masked. The products are multiplied by scale / cap.
  TensorPointer scores(const GraphPointer& graph, const TensorPointer& products) {
    tanh_ = graph->pointwise(products, named("tanh", fe::PointwiseMode_t::TANH_FWD));
    const TensorPointer capped = graph->pointwise(tanh_, value(), named("cap", fe::PointwiseMode_t::MUL));
    return is_causal_ ? fe::graph::attn::score_modifiers::causal_mask(graph, capped) : capped;
  }
  /// Adds the products' gradients, cap · (1 − tanh²) · dscores. GPUs before H100 have no kernel with
  /// the operation that computes the gradient of tanh.
  TensorPointer gradients(const GraphPointer& graph, const TensorPointer& dscores) const {
    const auto multiply = [&](const char* name, const TensorPointer& a, const TensorPointer& b) {
      return graph->pointwise(a, b, named(name, fe::PointwiseMode_t::MUL));
    };
    const TensorPointer lost = multiply("lost", dscores, multiply("tanh_squared", tanh_, tanh_));
    const TensorPointer rest = graph->pointwise(dscores, lost, named("rest", fe::PointwiseMode_t::SUB));
    return multiply("cap_gradient", rest, value());
  }

 private:
  TensorPointer value() const { return std::make_shared<fe::graph::Tensor_attributes>(cap_); }
  static fe::graph::Pointwise_attributes named(const char* name, fe::PointwiseMode_t mode) {
    return fe::graph::Pointwise_attributes().set_name(name).set_mode(mode);
  }
  float cap_;
  bool is_causal_;
  TensorPointer tanh_;
};

class GraphBuilder {
 public:
  GraphBuilder(const FusedProblem& problem, fe::graph::Graph& graph)
      : p_(problem),
        graph_(graph),
        cap_(std::make_shared<SoftCap>(problem.softcap, problem.mask == Mask::causal)) {
    graph_.set_io_data_type(type_of(problem.dtype))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  void add_forward() {
    auto options = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true);
    set_scores(options);
    const auto [q, k, v] = queries_keys_values();
    const auto [y, lse] = graph_.sdpa(q, k, v, options);
    emit(y, Operand::y, outputs());
    lse->set_output(true).set_uid(id(Operand::lse)).set_data_type(fe::DataType_t::FLOAT);
    lse->set_dim(lse_dimensions()).set_stride(lse_strides()).set_alignment(lse_alignment);
  }

  void add_backward(bool repeats_bits) {
    auto options = fe::graph::SDPA_backward_attributes().set_name("attention_backward");
    options.set_deterministic_algorithm(repeats_bits);
    set_scores(options);
    if (p_.softcap != 0)
      options.set_score_mod_bprop([cap = cap_](const GraphPointer& graph, const TensorPointer& dscores) {
        return cap->gradients(graph, dscores);
      });
    const auto [q, k, v] = queries_keys_values();
    const TensorPointer y = input(Operand::y, outputs());
    const TensorPointer dy = input(Operand::dy, {p_.H, p_.Tq, p_.dy_stride});
    const auto [dq, dk, dv] = graph_.sdpa_backward(q, k, v, y, dy, lse(), options);
    emit(dq, Operand::dq, {p_.H, p_.Tq, p_.gradient_strides.q});
    emit(dk, Operand::dk, {p_.K, p_.Tk, p_.gradient_strides.k});
    emit(dv, Operand::dv, {p_.K, p_.Tk, p_.gradient_strides.v});
  }

 private:
  Heads outputs() const { return {p_.H, p_.Tq, p_.y_stride}; }
  Dimensions dimensions(const Heads& h) const { return {p_.B, h.heads, h.rows, p_.D}; }
  Dimensions strides(const Heads& h) const { return {h.rows * h.stride, p_.D, h.stride, 1}; }
  Dimensions lse_dimensions() const { return {p_.B, p_.H, p_.Tq, 1}; }
  Dimensions lse_strides() const { return {p_.H * p_.Tq, p_.Tq, 1, 1}; }

  TensorPointer input(Operand operand, const Heads& heads) {
    return graph_.tensor(fe::graph::Tensor_attributes()
                             .set_uid(id(operand))
                             .set_dim(dimensions(heads))
                             .set_stride(strides(heads)));
  }
  std::array<TensorPointer, 3> queries_keys_values() {
    return {input(Operand::q, {p_.H, p_.Tq, p_.strides.q}), input(Operand::k, {p_.K, p_.Tk, p_.strides.k}),
            input(Operand::v, {p_.K, p_.Tk, p_.strides.v})};
  }
  TensorPointer lse() {
    return graph_.tensor(fe::graph::Tensor_attributes()
                             .set_uid(id(Operand::lse))
                             .set_data_type(fe::DataType_t::FLOAT)
                             .set_alignment(lse_alignment)
                             .set_dim(lse_dimensions())
                             .set_stride(lse_strides()));
  }
  void emit(const TensorPointer& output, Operand operand, const Heads& heads) const {
    output->set_output(true).set_uid(id(operand)).set_dim(dimensions(heads)).set_stride(strides(heads));
  }

  template <class Options>
  void set_scores(Options& options) {
    options.set_attn_scale(p_.softcap == 0 ? p_.scale : p_.scale / p_.softcap);
    if (p_.softcap != 0) {
      options.set_score_mod([cap = cap_](const GraphPointer& graph, const TensorPointer& products) {
        return cap->scores(graph, products);
      });
    } else if (p_.mask == Mask::causal) {
      options.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
    }
    if (p_.mask == Mask::added)
      options.set_bias(graph_.tensor(fe::graph::Tensor_attributes()
                                         .set_uid(id(Operand::added))
                                         .set_dim({p_.B, 1, p_.Tq, p_.Tk})
                                         .set_stride({p_.Tq * p_.Tk, p_.Tq * p_.Tk, p_.Tk, 1})));
  }

  const FusedProblem& p_;
  fe::graph::Graph& graph_;
  std::shared_ptr<SoftCap> cap_;  // graphs call it after this object is gone
};

}  // namespace

FusedProblem problem_of(const FusedAttention& attention) {
  const AttentionShape& s = attention.shape;
  return {.dtype = attention.y.rows_RS.dtype(),
          .mask = attention.mask,
          .B = s.batch,
          .H = s.query_heads,
          .K = s.key_value_heads,
          .Tq = s.sequence,
          .Tk = attention.keys(),
          .D = s.head_dim,
          .scale = score_scale<float>(s),
          .softcap = static_cast<float>(s.scores.softcap),
          .strides = strides_of(attention.qkv),
          .y_stride = attention.y.rows_RS.dim(1)};
}

FusedProblem problem_of(const FusedAttention& attention, const FusedAttentionGradients& gradients) {
  FusedProblem problem = problem_of(attention);
  problem.is_backward = true;
  problem.dy_stride = gradients.dy.rows_RS.dim(1);
  problem.gradient_strides = strides_of(gradients.to);
  return problem;
}

Pointers operands(const FusedAttention& attention) {
  return {{id(Operand::q), address(attention.qkv.q)},  {id(Operand::k), address(attention.qkv.k)},
          {id(Operand::v), address(attention.qkv.v)},  {id(Operand::y), address(attention.y)},
          {id(Operand::lse), attention.lse_BHT.raw()}, {id(Operand::added), attention.added_BTT.raw()}};
}

Pointers operands(const FusedAttention& attention, const FusedAttentionGradients& gradients) {
  Pointers pointers = operands(attention);
  pointers.insert({{id(Operand::dy), address(gradients.dy)},
                   {id(Operand::dq), address(gradients.to.q)},
                   {id(Operand::dk), address(gradients.to.k)},
                   {id(Operand::dv), address(gradients.to.v)}});
  return pointers;
}

std::shared_ptr<fe::graph::Graph> graph_of(const FusedProblem& problem, int capability, bool repeats_bits) {
  auto graph = std::make_shared<fe::graph::Graph>();
  graph->set_sm_version(capability);
  GraphBuilder builder(problem, *graph);
  problem.is_backward ? builder.add_backward(repeats_bits) : builder.add_forward();
  return graph;
}

std::string plan_error(fe::graph::Graph& graph, cudnnContext* state, bool repeats_bits) {
  fe::error_t error = graph.validate();
  if (error.is_good()) error = graph.build_operation_graph(state);
  if (error.is_good()) error = graph.create_execution_plans({fe::HeurMode_t::A});
  if (repeats_bits) graph.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
  if (error.is_good()) error = graph.check_support();
  if (error.is_good()) error = graph.build_plans(fe::BuildPlanPolicy_t::HEURISTICS_CHOICE);
  return error.is_good() ? "" : error.get_message();
}

}  // namespace dt::kernels::cuda
