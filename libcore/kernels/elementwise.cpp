#include "kernels/elementwise.hpp"

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/elementwise.hpp"

namespace dt::kernels {
namespace {

void check_alike(const char* kernel, const Tensor& a, const Tensor& b) {
  DT_CHECK(a.dtype() == b.dtype() && a.numel() == b.numel(), "{}: the tensors differ: {} {} and {} {}",
           kernel, dtype_name(a.dtype()), a.shape().to_string(), dtype_name(b.dtype()),
           b.shape().to_string());
}

}  // namespace

void add(const Context& context, const Tensor& a, const Tensor& b, const Tensor& y) {
  check_alike("add", a, b);
  check_alike("add", a, y);
  static constexpr Implementations<decltype(add)> implementations{reference::add<double>,
                                                                  reference::add<float>, cpu::add};
  pick(implementations, context, "add", y.dtype())(context, a, b, y);
}

// Moving bytes needs no reference.
void copy(const Context& context, const Tensor& source, const Tensor& target) {
  check_alike("copy", source, target);
  cpu::copy(context, source, target);
}

void zero(const Context& context, const Tensor& target) {
  cpu::zero(context, target);
}

void sum_squares_by_block(const Context& context, const Tensor& x, std::span<double> partials) {
  DT_CHECK(std::ssize(partials) == num_sum_blocks(x.numel()),
           "sum_squares_by_block: {} elements into {} partials", x.numel(), partials.size());
  static constexpr Implementations<decltype(sum_squares_by_block)> implementations{
      reference::sum_squares_by_block<double>, reference::sum_squares_by_block<float>,
      cpu::sum_squares_by_block};
  pick(implementations, context, "sum_squares_by_block", x.dtype())(context, x, partials);
}

}  // namespace dt::kernels
