#pragma once
// Selects code that is a template over the C++ type of elements.

#include "base/numeric/dtype.hpp"

namespace dt {

/// Errors: internal, always. `what` says what is lacking: "CPU kernel".
[[noreturn]] void throw_unsupported(DType dtype, const char* what);

/// Calls visit(T()) with the type of the list that has this dtype, and returns its result. The list is the
/// table of what `visit` supports: it is instantiated for these types alone. Inlined, so that vector code
/// calls and inlines `visit` as it would any function.
/// Errors: internal, none has: "there is no CPU kernel for u8" if `what` is "CPU kernel".
template <class T, class... Others, class Visit>
[[gnu::always_inline]] inline auto visit_dtype(TypeList<T, Others...>, DType dtype, const char* what,
                                               const Visit& visit) {
  if constexpr (sizeof...(Others) > 0) {
    if (dtype != dtype_of<T>()) return visit_dtype(TypeList<Others...>(), dtype, what, visit);
  } else {
    if (dtype != dtype_of<T>()) throw_unsupported(dtype, what);
  }
  return visit(T());
}

}  // namespace dt
