#pragma once

#include "device/ptx/program.hpp"

namespace dt::ptx {

/// Sets where lanes meet again that a branch divides: at the branch's immediate post-dominator, or at the
/// code's end where there is none.
void find_meetings(std::vector<Instruction>& code);

}  // namespace dt::ptx
