#include "base/numeric/dtype.hpp"

#include <array>
#include <string>

#include "base/error.hpp"

namespace dt {

namespace {

struct Entry {
  DType dtype;
  std::size_t bytes;
  std::string_view name;
};

constexpr std::array<Entry, 10> entries = {{
    {DType::f64, 8, "f64"},
    {DType::f32, 4, "f32"},
    {DType::bf16, 2, "bf16"},
    {DType::f16, 2, "f16"},
    {DType::i64, 8, "i64"},
    {DType::i32, 4, "i32"},
    {DType::u64, 8, "u64"},
    {DType::u32, 4, "u32"},
    {DType::u16, 2, "u16"},
    {DType::u8, 1, "u8"},
}};

const Entry& entry(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  DT_CHECK(index < entries.size(), "there is no element type {}", index);
  return entries[index];
}

constexpr bool is_in_enum_order() {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (static_cast<std::size_t>(entries[i].dtype) != i) return false;
  }
  return true;
}
static_assert(is_in_enum_order());

}  // namespace

std::size_t dtype_bytes(DType dtype) {
  return entry(dtype).bytes;
}

std::string_view dtype_name(DType dtype) {
  return entry(dtype).name;
}

DType parse_dtype(std::string_view name) {
  std::string allowed;
  for (const Entry& e : entries) {
    if (e.name == name) return e.dtype;
    allowed += (allowed.empty() ? "" : ", ") + std::string(e.name);
  }
  throw Error(ErrorKind::input, fmt::format("unknown element type '{}'", name), "expected one of " + allowed);
}

}  // namespace dt
