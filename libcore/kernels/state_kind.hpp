#pragma once
// A kind of state that an optimizer keeps, the parameters that have it, and its shape.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "base/text/enum_names.hpp"

namespace dt::kernels {

/// Parameters that an optimizer treats alike (model/parameter_scope.hpp). Matrices have two dims above 1;
/// weights of experts also have the experts' dim. `block_matrices` are the matrices of blocks, and `others`
/// are all other parameters. `vectors` are all parameters that are no matrices.
enum class ParameterScope : std::uint8_t { all, block_matrices, others, matrices, vectors };
constexpr auto enum_names(ParameterScope) {
  using enum ParameterScope;
  return std::to_array<EnumName<ParameterScope>>({{"all", all},
                                                  {"block-matrices", block_matrices},
                                                  {"others", others},
                                                  {"matrices", matrices},
                                                  {"vectors", vectors}});
}

/// The shape of a kind of state: the parameter's shape, or one number for each row or each column of a matrix
/// (each expert is a matrix). State whose shape is not the parameter's is whole on all ranks of a stage.
enum class StateShape : std::uint8_t { parameter, rows, columns };
constexpr auto enum_names(StateShape) {
  using enum StateShape;
  return std::to_array<EnumName<StateShape>>(
      {{"parameter", parameter}, {"rows", rows}, {"columns", columns}});
}

/// The kind of state that is the exponential moving average of the weights. Any optimizer can have it in
/// addition to its own kinds.
inline constexpr const char* average_kind = "ema";

struct StateKind {
  std::string name;  // as in checkpoints
  ParameterScope scope;
  StateShape shape = StateShape::parameter;
  std::optional<DType> dtype;  // none: that of the masters

  // Converts from names, since most kinds belong to all parameters.
  StateKind(std::string kind, ParameterScope of = ParameterScope::all, std::optional<DType> in = {})
      : name(std::move(kind)), scope(of), dtype(in) {}
  StateKind(const char* kind, ParameterScope of = ParameterScope::all, std::optional<DType> in = {})
      : name(kind), scope(of), dtype(in) {}
  StateKind(const char* kind, ParameterScope of, StateShape form) : name(kind), scope(of), shape(form) {}
  DType dtype_beside(DType masters) const { return dtype.value_or(masters); }
  bool operator==(const StateKind&) const = default;
};

inline std::vector<std::string> kind_names(std::span<const StateKind> kinds) {
  std::vector<std::string> names;
  for (const StateKind& kind : kinds) names.push_back(kind.name);
  return names;
}

}  // namespace dt::kernels
