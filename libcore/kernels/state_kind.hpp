#pragma once
// A kind of state that an optimizer keeps, and the parameters that have it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "base/text/enum_names.hpp"

namespace dt::kernels {

/// Parameters that an optimizer treats alike. Matrices of blocks have two dims above 1; an expert's
/// weight has the experts' dim beside them (model/parameter_scope.hpp).
enum class ParameterScope : std::uint8_t { all, block_matrices, others };
constexpr auto enum_names(ParameterScope) {
  using enum ParameterScope;
  return std::to_array<EnumName<ParameterScope>>(
      {{"all", all}, {"block-matrices", block_matrices}, {"others", others}});
}

/// The kind of state that is the exponential moving average of the weights. It may lie beside any
/// optimizer's.
inline constexpr const char* average_kind = "ema";

struct StateKind {
  std::string name;  // as in checkpoints
  ParameterScope scope;
  std::optional<DType> dtype;  // none: that of the masters

  // Converts from names, as most kinds are of all parameters.
  StateKind(std::string kind, ParameterScope of = ParameterScope::all, std::optional<DType> in = {})
      : name(std::move(kind)), scope(of), dtype(in) {}
  StateKind(const char* kind, ParameterScope of = ParameterScope::all, std::optional<DType> in = {})
      : name(kind), scope(of), dtype(in) {}
  DType dtype_beside(DType masters) const { return dtype.value_or(masters); }
  bool operator==(const StateKind&) const = default;
};

inline std::vector<std::string> kind_names(std::span<const StateKind> kinds) {
  std::vector<std::string> names;
  for (const StateKind& kind : kinds) names.push_back(kind.name);
  return names;
}

}  // namespace dt::kernels
