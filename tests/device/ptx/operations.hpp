#pragma once
// Operations by opcode.

#include <optional>
#include <string_view>

#include "device/ptx/program.hpp"

namespace dt::ptx {

struct Operation {
  Run run;
  std::uint8_t mode = 0;  // Instruction::mode
};

// Each function finds an opcode as it is written ("fma.rn.f32") among its own.

/// Finds operations on registers alone, lane by lane.
std::optional<Operation> find_arithmetic(std::string_view opcode);
/// Finds operations on predicates, and selections by them.
std::optional<Operation> find_comparison(std::string_view opcode);
/// Finds conversions from one type to another.
std::optional<Operation> find_conversion(std::string_view opcode);
/// Finds functions that a GPU approximates. Each result is off by an error within the documented bound.
std::optional<Operation> find_approximation(std::string_view opcode);
/// Finds loads, stores and atomics.
std::optional<Operation> find_access(std::string_view opcode);
/// Finds exchanges between the lanes of a warp.
std::optional<Operation> find_exchange(std::string_view opcode);

}  // namespace dt::ptx
