#pragma once
// Classes of parameters, by what a parameter is in the model.

#include "base/text/enum_names.hpp"
#include "model/parameter_table.hpp"

namespace dt::model {

/// embedding: tables of tokens and positions, a tied table among them. head: the matrix of an untied
/// head. norm: the weights of norms, and other vectors that scale. bias: vectors that are added. matrix:
/// all others, those of experts and routers among them.
enum class ParameterClass { embedding, head, norm, bias, matrix };
constexpr auto enum_names(ParameterClass) {
  using enum ParameterClass;
  return std::to_array<EnumName<ParameterClass>>(
      {{"embedding", embedding}, {"head", head}, {"norm", norm}, {"bias", bias}, {"matrix", matrix}});
}

/// Returns the class of the parameter with this index.
ParameterClass parameter_class(const ParameterTable& table, int param);

}  // namespace dt::model
