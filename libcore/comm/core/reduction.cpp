#include "comm/core/reduction.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <hwy/cache_control.h>

#include "base/error.hpp"
#include "base/numeric/visit_dtype.hpp"

// This file is read once for each instruction set.
#ifndef DT_COMM_REDUCTION_FORMATS
#define DT_COMM_REDUCTION_FORMATS
// Tells gcc what it cannot see. Other compilers look before each loop whether the buffers overlap.
#if defined(__GNUC__) && !defined(__clang__)
#define DT_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#else
#define DT_INDEPENDENT_ITERATIONS
#endif

namespace dt::comm {

namespace {

// Formats of elements in reductions on the host: how they are stored, and the type in which they are
// combined.

template <class T>
struct Plain {
  using Storage = T;
  using Value = T;
  static Value load(Storage stored) { return stored; }
  static Storage store(Value value) { return value; }
};
template <class T>
struct Narrow {
  using Storage = std::uint16_t;
  using Value = float;
  static Value load(Storage stored) { return T::widen(stored); }
  static Storage store(Value value) { return T::narrow(value); }
};

/// Calls visit(Format()) with the dtype's format.
/// Errors: internal, u8 or u16 (no arithmetic is defined).
template <class Visitor>
void with_format(DType dtype, const Visitor& visit) {
  visit_dtype(ReducibleTypes(), dtype, "reduction", [&](auto element) {
    using T = decltype(element);
    visit(std::conditional_t<is_narrow<T>, Narrow<T>, Plain<T>>());
  });
}

}  // namespace

}  // namespace dt::comm
#endif

#define HWY_TARGET_INCLUDE "comm/core/reduction.cpp"
#include "comm/core/cacheline_copy.hpp"

HWY_BEFORE_NAMESPACE();
namespace dt::comm::HWY_NAMESPACE {

namespace {

// Elements combined before the next are looked at, so that all partial results stay in the first-level
// cache.
constexpr std::int64_t block_size = 1024;

// In all loops below `out` is one of the operands or apart from them, so iterations do not depend on
// each other. The compiler cannot know that, and would take another code path by address.
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

  /// Combines elements [begin, begin + numel). Out is Storage, or Value, which is not rounded.
  template <class Out>
  void run(Out* out, std::int64_t begin, std::int64_t numel) {
    for (begin_ = begin; begin_ < begin + numel; begin_ += block_size) {
      count_ = std::min(block_size, begin + numel - begin_);
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
    DT_INDEPENDENT_ITERATIONS
    for (std::int64_t i = 0; i < count_; ++i) {
      const Value value = Op::apply(Format::load(a[i]), Format::load(b[i]));
      if constexpr (std::is_same_v<Out, Value>) {
        out[i] = value;
      } else {
        out[i] = Format::store(value);
      }
    }
  }

  /// Sets target = the combined inputs [begin, end). Also overwrites the memory behind target's
  /// block.
  void combine_node(int begin, int end, Value* target) const {
    if (end - begin == 1) return load(begin, target);
    if (end - begin == 2) return combine_pair(begin, target);
    const int middle = tree_split(begin, end);
    Value* right = target + block_size;
    combine_node(begin, middle, target);
    combine_node(middle, end, right);
    DT_INDEPENDENT_ITERATIONS
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

}  // namespace

void combine_all(Reduction reduction, std::span<const Tensor> inputs, const Tensor& out) {
  const DType dtype = inputs.front().dtype();
  with_format(dtype, [&]<class Format>(Format) HWY_ATTR {
    if (inputs.size() == 1) return cast(inputs.front(), out);
    with_reduction(reduction, [&]<class Op>(Op) HWY_ATTR {
      Combiner<Format, Op> combiner(inputs);
      if (out.dtype() == dtype) {
        combiner.run(reinterpret_cast<typename Format::Storage*>(out.raw()), 0, out.numel());
      } else {
        combiner.run(reinterpret_cast<typename Format::Value*>(out.raw()), 0, out.numel());
      }
    });
  });
}

namespace {

/// Stretches of inputs that lie in slots, except for this rank's own. The result goes into the slots
/// and to `out`.
class Slots {
 public:
  Slots(std::span<const Tensor> inputs, std::size_t own, const Tensor& out, StoreKind stores)
      : own_(inputs[own].raw()), out_(out.raw()), stores_(stores) {
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      if (rank != own) slots_.push_back(inputs[rank].raw());
    }
  }

  std::byte* result() const { return slots_.front(); }

  /// Copies the result to the other slots and to `out`. The last copy prefetches what is combined next.
  void pass_on(std::size_t begin, std::size_t bytes) const {
    const std::byte* done = result() + begin;
    for (std::size_t i = 1; i < slots_.size(); ++i) {
      copy_lines<false>(done, slots_[i] + begin, bytes, [](std::size_t) {});
    }
    const auto bring = [&](std::size_t at) HWY_ATTR {
      prefetch_line(own_ + begin + at + far_ahead);
      for (std::byte* slot : slots_) load_line(slot + begin + at + near_ahead);
    };
    if (stores_ == StoreKind::streamed) {
      copy_lines<true>(done, out_ + begin, bytes, bring);
    } else {
      copy_lines<false>(done, out_ + begin, bytes, bring);
    }
  }

 private:
  const std::byte* own_;
  std::byte* out_;
  StoreKind stores_;
  std::vector<std::byte*> slots_;
};

}  // namespace

void combine_all_in_slots(Reduction reduction, std::span<const Tensor> inputs, std::size_t own,
                          const Tensor& out, StoreKind stores) {
  const Slots slots(inputs, own, out, stores);
  with_format(out.dtype(), [&]<class Format>(Format) HWY_ATTR {
    with_reduction(reduction, [&]<class Op>(Op) HWY_ATTR {
      using Storage = typename Format::Storage;
      Combiner<Format, Op> combiner(inputs);
      auto* result = reinterpret_cast<Storage*>(slots.result());
      const auto block = static_cast<std::int64_t>(block_bytes / sizeof(Storage));
      for (std::int64_t begin = 0; begin < out.numel(); begin += block) {
        const std::int64_t count = std::min(block, out.numel() - begin);
        const auto at = static_cast<std::size_t>(begin) * sizeof(Storage);
        const auto bytes = static_cast<std::size_t>(count) * sizeof(Storage);
        combiner.run(result, begin, count);
        slots.pass_on(at, bytes);
      }
    });
  });
  if (stores == StoreKind::streamed) hwy::FlushStream();
}

}  // namespace dt::comm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dt::comm {

HWY_EXPORT(combine_all);
HWY_EXPORT(combine_all_in_slots);

namespace {

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
  HWY_DYNAMIC_DISPATCH(combine_all)(reduction, inputs, out);
}

void combine_in_slots(Reduction reduction, std::span<const Tensor> inputs, std::size_t own, const Tensor& out,
                      StoreKind stores) {
  check_inputs(inputs, out);
  DT_CHECK(inputs.size() > 1, "there are no slots");
  HWY_DYNAMIC_DISPATCH(combine_all_in_slots)(reduction, inputs, own, out, stores);
}

DType accumulator_dtype(DType dtype) {
  return is_narrow_float(dtype) ? DType::f32 : dtype;
}

void cast(const Tensor& in, const Tensor& out) {
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
#endif
