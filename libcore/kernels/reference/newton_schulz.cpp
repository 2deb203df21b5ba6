#include <cmath>
#include <utility>
#include <vector>

#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {

namespace {

struct Matrix {
  std::int64_t rows, columns;
  std::vector<double> values;

  double at(std::int64_t r, std::int64_t c) const {
    return values[static_cast<std::size_t>(r * columns + c)];
  }
};

/// Returns a matrix whose elements are value(row, column).
template <class Value>
Matrix make(std::int64_t rows, std::int64_t columns, const Value& value) {
  Matrix matrix{rows, columns, {}};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) matrix.values.push_back(value(r, c));
  }
  return matrix;
}

Matrix transposed(const Matrix& m) {
  return make(m.columns, m.rows, [&](std::int64_t r, std::int64_t c) { return m.at(c, r); });
}

Matrix product(const Matrix& a, const Matrix& b) {
  return make(a.rows, b.columns, [&](std::int64_t r, std::int64_t c) {
    double sum = 0;
    for (std::int64_t k = 0; k < a.columns; ++k) sum += a.at(r, k) * b.at(k, c);
    return sum;
  });
}

}  // namespace

template <class T>
void newton_schulz(const Context&, const Tensor& u_RC, const Tensor& x_RC) {
  double squares = 0;
  for (const T u : u_RC.span<T>()) squares += double{u} * double{u};
  const double divisor = std::sqrt(squares) + 1e-7;
  const std::int64_t R = u_RC.dim(0), C = u_RC.dim(1);
  Matrix X =
      make(R, C, [&](std::int64_t r, std::int64_t c) { return double{u_RC.data<T>()[r * C + c]} / divisor; });
  if (R > C) X = transposed(X);
  for (int step = 0; step < 5; ++step) {
    const Matrix A = product(X, transposed(X)), A2 = product(A, A);
    const Matrix B = make(A.rows, A.columns, [&](std::int64_t r, std::int64_t c) {
      return -4.7750 * A.at(r, c) + 2.0315 * A2.at(r, c);
    });
    const Matrix BX = product(B, X);
    X = make(X.rows, X.columns,
             [&](std::int64_t r, std::int64_t c) { return 3.4445 * X.at(r, c) + BX.at(r, c); });
  }
  if (R > C) X = transposed(X);
  for (std::int64_t i = 0; i < R * C; ++i)
    x_RC.data<T>()[i] = static_cast<T>(X.values[static_cast<std::size_t>(i)]);
}

template decltype(kernels::newton_schulz) newton_schulz<float>;
template decltype(kernels::newton_schulz) newton_schulz<double>;

}  // namespace dt::kernels::reference
