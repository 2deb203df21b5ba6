#include <memory>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "bench/table/machine.hpp"
#include "bench/table/product.hpp"

namespace dt::table {

namespace {

using Tag = dnnl::memory::format_tag;

/// A product c_MN = a_MK · b_KN; with `accumulates`, c += the product.
struct Gemm {
  Tensor a, b, c;
  std::int64_t M, N, K;
  bool a_transposed, b_transposed, accumulates;
};

Gemm gemm_of(Pass pass, const Operands& o) {
  const std::int64_t R = o.x.dim(0), N = o.w.dim(0), K = o.w.dim(1);
  if (pass == Pass::forward) return {o.x, o.w, o.y, R, N, K, false, true, false};
  if (pass == Pass::input) return {o.y, o.w, o.dx, R, K, N, false, false, false};
  return {o.y, o.x, o.dw, N, K, R, true, false, true};
}

dnnl::memory::data_type type_of(const Tensor& tensor) {
  return tensor.dtype() == DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

std::function<void()> matmul(const Gemm& g, bool packed) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const dnnl::memory::desc a({g.M, g.K}, type_of(g.a), g.a_transposed ? Tag::ba : Tag::ab);
  const dnnl::memory::desc plain_b({g.K, g.N}, type_of(g.b), g.b_transposed ? Tag::ba : Tag::ab);
  const dnnl::memory::desc any_b({g.K, g.N}, type_of(g.b), Tag::any);
  const dnnl::memory::desc c({g.M, g.N}, type_of(g.c), Tag::ab);
  dnnl::primitive_attr attributes;
  if (g.accumulates) {
    dnnl::post_ops sum;
    sum.append_sum(1);
    attributes.set_post_ops(sum);
  }
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, packed ? any_b : plain_b, c),
                                                 attributes, engine);
  const dnnl::memory ma(a, engine, g.a.raw()), mc(c, engine, g.c.raw());
  dnnl::memory mb(plain_b, engine, g.b.raw());
  dnnl::stream stream(engine);
  if (packed) {
    const dnnl::memory own(description.weights_desc(), engine);
    dnnl::reorder(mb, own).execute(stream, {{DNNL_ARG_FROM, mb}, {DNNL_ARG_TO, own}});
    stream.wait();
    mb = own;
  }
  return [=, product = dnnl::matmul(description)]() mutable {
    product.execute(stream, {{DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mb}, {DNNL_ARG_DST, mc}});
    stream.wait();
  };
}

std::function<void()> sgemm(const Gemm& g) {
  return [g] {
    dnnl_sgemm(g.a_transposed ? 'T' : 'N', g.b_transposed ? 'T' : 'N', g.M, g.N, g.K, 1, g.a.data<float>(),
               g.a_transposed ? g.M : g.K, g.b.data<float>(), g.b_transposed ? g.K : g.N,
               g.accumulates ? 1 : 0, g.c.data<float>(), g.N);
  };
}

}  // namespace

std::vector<Formulation> onednn_formulations(Pass pass, const Operands& operands) {
  const Gemm g = gemm_of(pass, operands);
  omp_set_num_threads(num_threads());
  std::vector<Formulation> list;
  for (const bool packed : {false, true}) {
    try {
      list.push_back({packed ? "packed" : "plain", matmul(g, packed)});
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented) throw;
    }
  }
  if (g.a.dtype() == DType::f32) list.push_back({"sgemm", sgemm(g)});
  return list;
}

}  // namespace dt::table
