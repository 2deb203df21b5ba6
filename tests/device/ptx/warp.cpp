#include "device/ptx/warp.hpp"

#include <bit>

#include "base/error.hpp"

namespace dt::ptx {

void Warp::fail(const Instruction& instruction, unsigned lane, const std::string& what) const {
  throw Error(ErrorKind::internal,
              fmt::format("{}: block {},{},{} thread {}: line {}, {}: {}", block.launch.kernel.name,
                          block.index[0], block.index[1], block.index[2], index * warp_size + lane,
                          instruction.line, instruction.text, what));
}

void Warp::run() {
  const std::vector<Instruction>& code = block.launch.kernel.code;
  while (!paths.empty()) {
    Path& path = paths.back();
    if (path.lanes == 0 || path.at == path.end) {
      paths.pop_back();
      continue;
    }
    const Instruction& instruction = code[path.at];
    std::uint32_t lanes = path.lanes;
    if (instruction.guard >= 0)
      lanes &= instruction.guard_is_negated ? ~predicate(instruction.guard) : predicate(instruction.guard);
    switch (instruction.flow) {
      case Flow::next:
        active = lanes;
        if (lanes != 0) instruction.run(*this, instruction);
        ++path.at;
        break;
      case Flow::branch: {
        const std::uint32_t others = path.lanes & ~lanes, next = path.at + 1;
        if (others == 0 || lanes == 0) {
          path.at = others == 0 ? instruction.target : next;
          break;
        }
        path.at = instruction.meeting;
        const std::uint32_t end = instruction.meeting;
        paths.push_back({next, end, others});
        paths.push_back({instruction.target, end, lanes});
        break;
      }
      case Flow::exit:
        ++path.at;
        live &= ~lanes;
        for (Path& any : paths) any.lanes &= ~lanes;
        break;
      case Flow::barrier:
        if (lanes == 0) {
          ++path.at;
          break;
        }
        if (lanes != live)
          fail(instruction, static_cast<unsigned>(std::countr_zero(live & ~lanes)),
               fmt::format("the barrier is divergent: lanes {:08x} of {:08x} are there", lanes, live));
        ++path.at;
        is_at_barrier = true;
        barrier = static_cast<std::int32_t>(instruction.offset);
        return;
    }
  }
}

}  // namespace dt::ptx
