#include "base/numeric/dtype.hpp"

#include <string>

#include "base/numeric/visit_dtype.hpp"

namespace dt {

namespace {

template <class... Ts>
constexpr bool describes(TypeList<Ts...>) {
  constexpr std::array sizes = {sizeof(Ts)...};
  if (sizes.size() != dtype_table.size()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const DTypeTraits& traits = dtype_table[i];
    const int bits = 1 + traits.exponent_bits + traits.mantissa_bits;
    const bool is_laid_out = traits.kind != NumberKind::floating || bits == 8 * traits.bytes;
    if (static_cast<std::size_t>(traits.dtype) != i || traits.bytes != sizes[i] || !is_laid_out) return false;
  }
  return true;
}
static_assert(describes(ElementTypes()), "dtype_table, ElementTypes and DType have one order");

}  // namespace

std::string_view dtype_name(DType dtype) {
  return traits_of(dtype).name;
}

DType parse_dtype(std::string_view name) {
  for (const DTypeTraits& traits : dtype_table) {
    if (traits.name == name) return traits.dtype;
  }
  throw Error(ErrorKind::input, fmt::format("unknown element type '{}'", name), "expected " + list_dtypes());
}

std::string list_dtypes() {
  std::string list;
  for (const DTypeTraits& traits : dtype_table) {
    const bool is_last = traits.dtype == dtype_table.back().dtype;
    list += fmt::format("{}{}", list.empty() ? "" : is_last ? " or " : ", ", traits.name);
  }
  return list;
}

void throw_unsupported(DType dtype, const char* what) {
  throw Error(ErrorKind::internal, fmt::format("there is no {} for {}", what, dtype_name(dtype)));
}

}  // namespace dt
