#pragma once

#include "comm/mpi/world.hpp"

namespace dt::comm::test {

/// Returns the world that main created.
mpi::World& the_world();

}  // namespace dt::comm::test
