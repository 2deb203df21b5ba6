#pragma once

namespace dt::comm::nccl {

/// Makes NCCL the program's stream library. NCCL is loaded when it is first asked for.
void register_nccl();

}  // namespace dt::comm::nccl
