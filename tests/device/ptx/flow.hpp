#pragma once

#include "device/ptx/program.hpp"

namespace dt::ptx {

/// Sets where lanes that a branch divides meet again: at the branch's immediate post-dominator, or at the
/// code's end if there is none.
void find_meetings(std::vector<Instruction>& code);

}  // namespace dt::ptx
