#include "kernels/factored_moments.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <mutex>
#include <type_traits>

#include "base/error.hpp"
#include "base/numeric/half.hpp"
#include "base/numeric/integer.hpp"
#include "base/numeric/visit_dtype.hpp"
#include "kernels/cpu/simd/parallel.hpp"
#include "kernels/element_types.hpp"

namespace dt::kernels {

namespace {

using GradientTypes = Joined<TypeList<double>, CpuGradientTypes>;

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return static_cast<double>(static_cast<float>(value));
  else
    return static_cast<double>(value);
}

/// Consecutive elements of one row that the rank holds.
struct RowRange {
  std::int64_t row;     // number of the row, counted over all matrices
  std::int64_t column;  // column of the first element
  std::int64_t offset;  // place of the first element among the held ones
  std::int64_t count;
};

/// Calls use(range) for the ranges of the held elements [begin, end).
template <class Use>
void for_row_ranges(const Piece& piece, std::int64_t begin, std::int64_t end, const Use& use) {
  const int last = piece.box.rank() - 1;
  const std::int64_t width = piece.box[last];
  for (std::int64_t at = piece.begin + begin; at < piece.begin + end;) {
    std::int64_t row = 0, stride = 1, index = at / width;
    for (int dim = last - 1; dim >= 0; --dim) {
      row += (piece.start[static_cast<std::size_t>(dim)] + index % piece.box[dim]) * stride;
      index /= piece.box[dim];
      stride *= piece.global[dim];
    }
    const std::int64_t column = at % width;
    const std::int64_t count = std::min(width - column, piece.begin + end - at);
    use(RowRange{row, piece.start[static_cast<std::size_t>(last)] + column, at - piece.begin, count});
    at += count;
  }
}

/// The lines of the matrices of a tensor.
struct Lines {
  std::int64_t rows = 0, columns = 0;  // numbers in one matrix

  explicit Lines(const HeldElements& elements) {
    const Shape& shape = elements.piece.global;
    columns = shape[shape.rank() - 1];
    rows = shape.numel() / columns / elements.matrices;
  }
  std::int64_t matrix_of(const RowRange& range) const { return range.row / rows; }
};

/// Sets target to combine(target, value), which several threads may do at the same time. The order of
/// combinations is arbitrary.
template <class T, class Combine>
void combine_shared(T& target, T value, const Combine& combine) {
  std::atomic_ref<T> shared(target);
  T before = shared.load(std::memory_order_relaxed);
  while (!shared.compare_exchange_weak(before, combine(before, value), std::memory_order_relaxed)) {
  }
}

/// Arrays in scratch memory, one for each thread of a team. No two share a cache line.
template <class T>
class ThreadArrays {
 public:
  /// The caller's scope frees them.
  ThreadArrays(const Context& context, std::size_t count)
      : count_(count),
        memory_(context.scratch().allocate(
            DType::u8, {context.threads(), static_cast<std::int64_t>(bytes_of_one(count))})) {}

  /// Returns an array that no other call returned, of values T{}. Any thread may call it, each once.
  std::span<T> take() {
    T* const first = reinterpret_cast<T*>(memory_.raw() + next_.fetch_add(1) * bytes_of_one(count_));
    std::uninitialized_value_construct_n(first, count_);
    return {first, count_};
  }
  static std::size_t bytes_of_one(std::size_t count) { return round_up(count * sizeof(T), std::size_t{64}); }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  std::size_t count_;
  Tensor memory_;
  std::atomic<std::size_t> next_ = 0;
};

/// Combines values of each held element into the values of its row and its column. values(range, first
/// column, add) calls add(i, value for the row, value for the column) for each element of a range.
template <class T, class Values, class Combine>
void combine_lines(const Context& context, const HeldElements& elements, std::span<T> rows,
                   std::span<T> columns, const Values& values, const Combine& combine) {
  const Lines lines(elements);
  const Arena::Scope scope(context.scratch());
  ThreadArrays<T> arrays(context, columns.size());
  std::mutex merging;
  cpu::for_ranges(context, elements.piece.numel(), 1, [&](std::int64_t begin, std::int64_t end) {
    const std::span<T> own = arrays.take();
    for_row_ranges(elements.piece, begin, end, [&](const RowRange& range) {
      T* const of_columns = own.data() + lines.matrix_of(range) * lines.columns + range.column;
      T of_row{};
      values(range, lines.matrix_of(range) * lines.columns + range.column,
             [&](std::int64_t i, T for_row, T for_column) {
               of_row = combine(of_row, for_row);
               of_columns[i] = combine(of_columns[i], for_column);
             });
      combine_shared(rows[static_cast<std::size_t>(range.row)], of_row, combine);
    });
    const std::scoped_lock lock(merging);
    for (std::size_t i = 0; i < own.size(); ++i) columns[i] = combine(columns[i], own[i]);
  });
}

/// Rounds a number in [0, 2^51) to the nearest integer.
std::int64_t round_to_integer(double x) {
  constexpr double shift = 0x1.8p52;  // its last mantissa bit has the value 1
  return std::bit_cast<std::int64_t>(x + shift) - std::bit_cast<std::int64_t>(shift);
}

/// Calls body(range, direction) for the ranges of the held elements [begin, end). direction(i) returns the
/// direction of the i-th element of the range.
template <class G, class Body>
void for_direction_ranges(const Direction& direction, std::int64_t begin, std::int64_t end,
                          const Body& body) {
  const HeldElements& elements = direction.gradient;
  const Lines lines(elements);
  const G* const gradient = elements.values.data<G>();
  const double factor = direction.factor;
  const auto with_moments = [&]<class T>(const T* moments) {
    for_row_ranges(elements.piece, begin, end, [&](const RowRange& range) {
      const T* const in_range = moments + range.offset;
      const G* const g = gradient + range.offset;
      body(range, [=](std::int64_t i) { return factor * to_double(g[i]) / std::sqrt(double{in_range[i]}); });
    });
  };
  if (direction.moments.dtype() == DType::f64 && direction.moments)
    return with_moments(direction.moments.data<double>());
  if (direction.moments) return with_moments(direction.moments.data<float>());
  for_row_ranges(elements.piece, begin, end, [&](const RowRange& range) {
    const G* const g = gradient + range.offset;
    if (direction.row_factors_MR.empty())
      return body(range, [=](std::int64_t i) { return factor * to_double(g[i]); });
    const double row = factor * direction.row_factors_MR[static_cast<std::size_t>(range.row)];
    const double* const columns =
        direction.column_factors_MC.data() + lines.matrix_of(range) * lines.columns + range.column;
    body(range, [=](std::int64_t i) { return to_double(g[i]) * (row * columns[i]); });
  });
}

}  // namespace

std::size_t factored_scratch_bytes(int threads, std::int64_t matrices, std::int64_t columns) {
  static_assert(sizeof(double) == sizeof(std::int64_t));
  return static_cast<std::size_t>(threads) *
         std::max(ThreadArrays<double>::bytes_of_one(static_cast<std::size_t>(matrices * columns)),
                  ThreadArrays<ExactSum>::bytes_of_one(static_cast<std::size_t>(matrices)));
}

std::size_t sums_bytes(std::int64_t count) {
  return static_cast<std::size_t>(count) * sizeof(ExactSum);
}

std::span<ExactSum> allocate_sums(const Context& context, std::int64_t count) {
  const Tensor memory = context.scratch().allocate(DType::u8, {static_cast<std::int64_t>(sums_bytes(count))});
  auto* const first = reinterpret_cast<ExactSum*>(memory.raw());
  std::uninitialized_value_construct_n(first, count);
  return {first, static_cast<std::size_t>(count)};
}

void find_line_maxima(const Context& context, const HeldElements& elements, std::span<double> row_max_MR,
                      std::span<double> column_max_MC) {
  visit_dtype(GradientTypes(), elements.values.dtype(), "maxima of lines", [&](auto element) {
    const auto* const values = elements.values.data<decltype(element)>();
    combine_lines<double>(
        context, elements, row_max_MR, column_max_MC,
        [=](const RowRange& range, std::int64_t, const auto& add) {
          for (std::int64_t i = 0; i < range.count; ++i) {
            const double magnitude = std::abs(to_double(values[range.offset + i]));
            add(i, magnitude, magnitude);
          }
        },
        [](double a, double b) { return std::max(a, b); });
  });
}

double line_scale(double max, std::int64_t length) {
  if (max == 0) return 0;
  const int bits =
      std::min(50, 62 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(length)))) & ~1;
  return std::ldexp(1.0, bits / 2 - 1 - std::ilogb(max));
}

void add_line_squares(const Context& context, const HeldElements& elements,
                      std::span<const double> row_scale_MR, std::span<const double> column_scale_MC,
                      std::span<std::int64_t> row_sums_MR, std::span<std::int64_t> column_sums_MC) {
  visit_dtype(GradientTypes(), elements.values.dtype(), "squares of lines", [&](auto element) {
    const auto* const values = elements.values.data<decltype(element)>();
    combine_lines<std::int64_t>(
        context, elements, row_sums_MR, column_sums_MC,
        [=](const RowRange& range, std::int64_t first_column, const auto& add) {
          const double row_scale = row_scale_MR[static_cast<std::size_t>(range.row)];
          const double* const column_scales = column_scale_MC.data() + first_column;
          for (std::int64_t i = 0; i < range.count; ++i) {
            const double value = to_double(values[range.offset + i]);
            const double of_row = value * row_scale, of_column = value * column_scales[i];
            add(i, round_to_integer(of_row * of_row), round_to_integer(of_column * of_column));
          }
        },
        [](std::int64_t a, std::int64_t b) { return a + b; });
  });
}

void update_second_moments(const Context& context, const Tensor& gradient, const Tensor& moments,
                           double factor, double decay, double eps) {
  visit_dtype(GradientTypes(), gradient.dtype(), "second moments", [&](auto element) {
    visit_dtype(TypeList<double, float>(), moments.dtype(), "second moments", [&](auto state) {
      using T = decltype(state);
      const auto* const g = gradient.data<decltype(element)>();
      T* const v = moments.data<T>();
      cpu::for_elements(context, moments.numel(), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const double scaled = factor * to_double(g[i]);
          v[i] = static_cast<T>(decay * double{v[i]} + (1 - decay) * (scaled * scaled + eps));
        }
      });
    });
  });
}

void add_direction_squares(const Context& context, const Direction& direction, std::span<ExactSum> sums_M) {
  const HeldElements& elements = direction.gradient;
  const Lines lines(elements);
  const Arena::Scope scope(context.scratch());
  ThreadArrays<ExactSum> arrays(context, sums_M.size());
  std::mutex merging;
  visit_dtype(GradientTypes(), elements.values.dtype(), "squares of directions", [&](auto element) {
    cpu::for_ranges(context, elements.piece.numel(), 1, [&](std::int64_t begin, std::int64_t end) {
      const std::span<ExactSum> own = arrays.take();
      for_direction_ranges<decltype(element)>(
          direction, begin, end, [&](const RowRange& range, const auto& value) {
            ExactSum& sum = own[static_cast<std::size_t>(lines.matrix_of(range))];
            std::array<double, 256> squares;
            for (std::int64_t first = 0; first < range.count; first += std::ssize(squares)) {
              const std::int64_t count = std::min(std::ssize(squares), range.count - first);
              for (std::int64_t i = 0; i < count; ++i) {
                const double u = value(first + i);
                squares[static_cast<std::size_t>(i)] = u * u;
              }
              sum.add(std::span(squares).first(static_cast<std::size_t>(count)));
            }
          });
      const std::scoped_lock lock(merging);
      for (std::size_t i = 0; i < own.size(); ++i) sums_M[i].merge(own[i]);
    });
  });
}

void apply_factored_direction(const Context& context, const Direction& direction,
                              std::span<const double> rates_M, double decay, const Tensor& weights) {
  const HeldElements& elements = direction.gradient;
  const Lines lines(elements);
  visit_dtype(GradientTypes(), elements.values.dtype(), "updates", [&](auto element) {
    visit_dtype(TypeList<double, float>(), weights.dtype(), "updates", [&](auto weight) {
      using T = decltype(weight);
      T* const w = weights.data<T>();
      cpu::for_ranges(context, elements.piece.numel(), 1, [&](std::int64_t begin, std::int64_t end) {
        for_direction_ranges<decltype(element)>(
            direction, begin, end, [&](const RowRange& range, const auto& value) {
              const double rate = rates_M[static_cast<std::size_t>(lines.matrix_of(range))];
              T* const in_range = w + range.offset;
              for (std::int64_t i = 0; i < range.count; ++i)
                in_range[i] =
                    static_cast<T>(double{in_range[i]} - (decay * double{in_range[i]} + rate * value(i)));
            });
      });
    });
  });
}

}  // namespace dt::kernels
