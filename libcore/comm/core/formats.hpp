#pragma once
// Formats of elements in reductions on the host: how they are stored, and the type in which they are
// combined.

#include <cstdint>

#include "base/error.hpp"
#include "base/numeric/half.hpp"
#include "comm/core/reduction.hpp"

namespace dt::comm {

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

/// Calls visit(Format()) with the dtype's format.
/// Errors: internal, u8 or u16 (no arithmetic is defined).
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

}  // namespace dt::comm
