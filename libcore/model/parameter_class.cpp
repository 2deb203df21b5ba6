#include "model/parameter_class.hpp"

#include "base/numeric/integer.hpp"

namespace dt::model {

ParameterClass parameter_class(const ParameterTable& table, int param) {
  const ParamSpec& spec = table.params()[to_index(param)];
  if (spec.name.ends_with("bias")) return ParameterClass::bias;
  if (spec.shape.rank() == 1) return ParameterClass::norm;
  const int first_unit = table.groups()[to_index(table.group_of(param))].units.front();
  switch (table.units()[to_index(first_unit)].kind) {
    case UnitKind::embedding:
      return ParameterClass::embedding;  // also a tied table, whose first unit it is
    case UnitKind::head:
      return ParameterClass::head;
    case UnitKind::block:
      return ParameterClass::matrix;
  }
  DT_CHECK(false, "{} has no class", spec.name);
}

}  // namespace dt::model
