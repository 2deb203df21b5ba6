#pragma once
// What each opcode does.

#include <optional>
#include <string_view>

#include "device/ptx/program.hpp"

namespace dt::ptx {

struct Operation {
  Run run;
  std::uint8_t mode = 0;  // Instruction::mode
};

// Each finds an opcode as it is written ("fma.rn.f32") among its own.
/// On registers alone, lane by lane.
std::optional<Operation> find_arithmetic(std::string_view opcode);
/// Predicates, and what they select.
std::optional<Operation> find_comparison(std::string_view opcode);
/// From one type to another.
std::optional<Operation> find_conversion(std::string_view opcode);
/// The functions that a GPU approximates: each result is off by as much as is documented, at most.
std::optional<Operation> find_approximation(std::string_view opcode);
/// Loads, stores and atomics.
std::optional<Operation> find_access(std::string_view opcode);
/// Between the lanes of a warp.
std::optional<Operation> find_exchange(std::string_view opcode);

}  // namespace dt::ptx
