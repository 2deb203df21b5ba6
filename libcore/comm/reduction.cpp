#include "comm/reduction.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "base/half.hpp"

namespace dt::comm {

namespace {

// Elements combined before the next ones are looked at: all partial results stay in the first-level cache.
constexpr std::int64_t block_size = 1024;

template <class T>
struct Plain {
  using Storage = T;
  using Value = T;
  static Value load(Storage stored) { return stored; }
  static Storage store(Value value) { return value; }
};
struct Bf16 {
  using Storage = std::uint16_t;
  using Value = float;
  static Value load(Storage stored) { return bf16_to_f32(stored); }
  static Storage store(Value value) { return f32_to_bf16(value); }
};
struct F16 {
  using Storage = std::uint16_t;
  using Value = float;
  static Value load(Storage stored) { return f16_to_f32(stored); }
  static Storage store(Value value) { return f32_to_f16(value); }
};

/// Signed overflow is undefined, unsigned wraps.
template <class T>
using Wrapping =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

struct Sum {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
  template <class T>
  static constexpr T neutral = std::is_floating_point_v<T> ? static_cast<T>(-0.0) : T{0};
};
struct Product {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
  template <class T>
  static constexpr T neutral = T{1};
};
template <class T>
constexpr T largest() {
  return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}
template <class T>
constexpr T smallest() {
  return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}
// a != a holds for NaN alone; where only b is NaN the comparison fails and b is taken.
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return (a <= b) | (a != a) ? a : b;
  }
  template <class T>
  static constexpr T neutral = largest<T>();
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return (a >= b) | (a != a) ? a : b;
  }
  template <class T>
  static constexpr T neutral = smallest<T>();
};

// In all loops below `out` is one of the operands or apart from them, so iterations do not depend on each
// other; the compiler cannot know and would take another code path by address.
template <class Format, class Op>
class Combiner {
  using Storage = typename Format::Storage;
  using Value = typename Format::Value;

 public:
  explicit Combiner(std::span<const Tensor> inputs) {
    for (const Tensor& input : inputs) inputs_.push_back(reinterpret_cast<const Storage*>(input.raw()));
    std::size_t depth = 2;
    for (std::size_t leaves = 1; leaves < inputs_.size(); leaves *= 2) ++depth;
    if (inputs_.size() > 2) scratch_.resize(depth * block_size);
  }

  /// Out: Storage, or Value, which is not rounded.
  template <class Out>
  void run(Out* out, std::int64_t numel) {
    for (begin_ = 0; begin_ < numel; begin_ += block_size) {
      count_ = std::min(block_size, numel - begin_);
      if (inputs_.size() == 2) {
        combine_pair(0, out + begin_);
      } else {
        combine_node(0, static_cast<int>(inputs_.size()), scratch_.data());
        store(scratch_.data(), out + begin_);
      }
    }
  }

 private:
  const Storage* input(int rank) const { return inputs_[static_cast<std::size_t>(rank)] + begin_; }

  template <class Out>
  void combine_pair(int rank, Out* out) const {
    const Storage* a = input(rank);
    const Storage* b = input(rank + 1);
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count_; ++i) {
      const Value value = Op::apply(Format::load(a[i]), Format::load(b[i]));
      if constexpr (std::is_same_v<Out, Value>) {
        out[i] = value;
      } else {
        out[i] = Format::store(value);
      }
    }
  }

  /// target = the inputs [begin, end); what lies behind target's block is overwritten.
  void combine_node(int begin, int end, Value* target) const {
    if (end - begin == 1) return load(begin, target);
    if (end - begin == 2) return combine_pair(begin, target);
    const int middle = tree_middle(begin, end);
    Value* right = target + block_size;
    combine_node(begin, middle, target);
    combine_node(middle, end, right);
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count_; ++i) target[i] = Op::apply(target[i], right[i]);
  }

  void load(int rank, Value* target) const {
    const Storage* source = input(rank);
    for (std::int64_t i = 0; i < count_; ++i) target[i] = Format::load(source[i]);
  }

  template <class Out>
  void store(const Value* source, Out* out) const {
    if constexpr (std::is_same_v<Out, Value>) {
      std::copy_n(source, count_, out);
    } else {
      for (std::int64_t i = 0; i < count_; ++i) out[i] = Format::store(source[i]);
    }
  }

  std::vector<const Storage*> inputs_;
  std::vector<Value> scratch_;
  std::int64_t begin_ = 0;
  std::int64_t count_ = 0;
};

template <class Visitor>
void with_format(DType dtype, const Visitor& visit) {
  switch (dtype) {
    case DType::f64:
      return visit(Plain<double>{});
    case DType::f32:
      return visit(Plain<float>{});
    case DType::bf16:
      return visit(Bf16{});
    case DType::f16:
      return visit(F16{});
    case DType::i64:
      return visit(Plain<std::int64_t>{});
    case DType::i32:
      return visit(Plain<std::int32_t>{});
    case DType::u64:
      return visit(Plain<std::uint64_t>{});
    case DType::u32:
      return visit(Plain<std::uint32_t>{});
    case DType::u16:
    case DType::u8:
      break;
  }
  throw Error(ErrorKind::internal, fmt::format("{} elements cannot be reduced", dtype_name(dtype)));
}

template <class Visitor>
void with_reduction(Reduction reduction, const Visitor& visit) {
  switch (reduction) {
    case Reduction::sum:
      return visit(Sum{});
    case Reduction::product:
      return visit(Product{});
    case Reduction::min:
      return visit(Min{});
    case Reduction::max:
      return visit(Max{});
  }
}

void check_inputs(std::span<const Tensor> inputs, const Tensor& out) {
  DT_CHECK(!inputs.empty(), "nothing to combine");
  const DType dtype = inputs.front().dtype();
  DT_CHECK(out.dtype() == dtype || out.dtype() == accumulator_dtype(dtype), "{} elements combine into {}",
           dtype_name(dtype), dtype_name(out.dtype()));
  for (const Tensor& input : inputs) {
    DT_CHECK(input.dtype() == dtype && input.numel() == out.numel(), "{} {} elements combine into {} {}",
             input.numel(), dtype_name(input.dtype()), out.numel(), dtype_name(out.dtype()));
  }
}

}  // namespace

void combine(Reduction reduction, std::span<const Tensor> inputs, const Tensor& out) {
  check_inputs(inputs, out);
  const DType dtype = inputs.front().dtype();
  with_format(dtype, [&]<class Format>(Format) {
    if (inputs.size() == 1) return convert(inputs.front(), out);
    with_reduction(reduction, [&]<class Op>(Op) {
      Combiner<Format, Op> combiner(inputs);
      if (out.dtype() == dtype) {
        combiner.run(reinterpret_cast<typename Format::Storage*>(out.raw()), out.numel());
      } else {
        combiner.run(reinterpret_cast<typename Format::Value*>(out.raw()), out.numel());
      }
    });
  });
}

void fill_neutral(Reduction reduction, const Tensor& target) {
  with_format(target.dtype(), [&]<class Format>(Format) {
    with_reduction(reduction, [&]<class Op>(Op) {
      using Value = typename Format::Value;
      std::fill_n(reinterpret_cast<typename Format::Storage*>(target.raw()), target.numel(),
                  Format::store(Op::template neutral<Value>));
    });
  });
}

DType accumulator_dtype(DType dtype) {
  return dtype == DType::bf16 || dtype == DType::f16 ? DType::f32 : dtype;
}

void convert(const Tensor& in, const Tensor& out) {
  DT_CHECK(in.numel() == out.numel(), "{} elements are converted to {}", in.numel(), out.numel());
  if (in.dtype() == out.dtype()) {
    if (in.bytes() > 0 && in.raw() != out.raw()) std::memcpy(out.raw(), in.raw(), in.bytes());
    return;
  }
  const bool widens = out.dtype() == DType::f32;
  DT_CHECK(accumulator_dtype(widens ? in.dtype() : out.dtype()) == (widens ? out.dtype() : in.dtype()),
           "{} is converted to {}", dtype_name(in.dtype()), dtype_name(out.dtype()));
  with_format(widens ? in.dtype() : out.dtype(), [&]<class Format>(Format) {
    using Storage = typename Format::Storage;
    using Value = typename Format::Value;
    const std::int64_t numel = in.numel();
    if (widens) {
      const auto* from = reinterpret_cast<const Storage*>(in.raw());
      auto* to = reinterpret_cast<Value*>(out.raw());
      for (std::int64_t i = 0; i < numel; ++i) to[i] = Format::load(from[i]);
    } else {
      const auto* from = reinterpret_cast<const Value*>(in.raw());
      auto* to = reinterpret_cast<Storage*>(out.raw());
      for (std::int64_t i = 0; i < numel; ++i) to[i] = Format::store(from[i]);
    }
  });
}

}  // namespace dt::comm
