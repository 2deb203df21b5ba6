#pragma once
// A kernel in PTX in executable form: instructions whose operands are rows of a register file.
// Source: NVIDIA, PTX ISA 9.0, for the meaning of instructions.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt::ptx {

struct Warp;
struct Instruction;

inline constexpr unsigned warp_size = 32;
inline constexpr std::uint32_t all_lanes = 0xFFFFFFFF;

/// Executes an instruction for the warp's active lanes.
using Run = void (*)(Warp&, const Instruction&);

/// The warp's next step after an instruction.
enum class Flow : std::uint8_t { next, branch, exit, barrier };

/// An instruction. A row has a value of 64 bits for each lane: a register, a special register or a
/// constant. A predicate is a bit for each lane.
struct Instruction {
  Run run = nullptr;  // null if `flow` says all
  Flow flow = Flow::next;
  bool guard_is_negated = false;
  std::int32_t guard = -1;           // predicate; -1: always executed
  std::array<std::int32_t, 8> to{};  // rows or predicates that are written; values of a store
  std::array<std::int32_t, 4>
      from{};  // rows or predicates that are read; first the address of memory accesses
  std::uint8_t num_to = 0, num_from = 0;
  std::uint8_t mode = 0;      // the operation's own modifiers
  std::uint32_t target = 0;   // destination of a branch
  std::uint32_t meeting = 0;  // place at which lanes that a branch divides meet again
  std::int64_t offset = 0;    // added to an address
  std::uint32_t line = 0;     // line of the kernel's text
  std::string text{};         // for messages
};

/// The rows of a thread's special registers, in this order at the file's beginning.
enum class Special : std::int32_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  lanemask_eq,
  lanemask_lt,
  lanemask_le,
  lanemask_gt,
  lanemask_ge,
  count
};

struct Parameter {
  std::string name;
  std::size_t offset, bytes;
};

struct Constant {
  std::int32_t row;
  std::uint64_t bits;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters{};
  std::size_t parameter_bytes = 0;
  std::size_t shared_bytes = 0;  // without a launch's dynamic bytes, which begin at `dynamic_begin`
  std::size_t dynamic_begin = 0;
  std::size_t local_bytes = 0;  // per thread
  unsigned most_threads = 1024;
  std::int32_t num_rows = 0, num_predicates = 0;
  std::vector<Constant> constants{};
  std::vector<Instruction> code{};
};

}  // namespace dt::ptx
