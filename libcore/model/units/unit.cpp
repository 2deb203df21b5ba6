#include "model/units/unit.hpp"

#include "model/units/block_unit.hpp"
#include "model/units/embedding_unit.hpp"
#include "model/units/head_unit.hpp"

namespace dt::model {

std::vector<std::unique_ptr<Unit>> make_units(Device device, const ModelSpec& spec,
                                              const ParameterTable& table, DType dtype,
                                              SavedActivations saved_activations,
                                              const TensorParallelOps& ops) {
  const auto rotary = std::make_shared<const RotaryTables>(device, spec, statistics_dtype(dtype));
  std::vector<std::unique_ptr<Unit>> units;
  for (const UnitSpec& unit : table.units()) {
    switch (unit.kind) {
      case UnitKind::embedding:
        units.push_back(std::make_unique<EmbeddingUnit>(spec, unit, dtype, ops));
        break;
      case UnitKind::block:
        units.push_back(std::make_unique<BlockUnit>(spec, unit, dtype, saved_activations, rotary, ops));
        break;
      case UnitKind::head:
        units.push_back(std::make_unique<HeadUnit>(spec, unit, dtype, ops));
        break;
    }
  }
  return units;
}

}  // namespace dt::model
