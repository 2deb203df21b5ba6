#pragma once

#include "comm/mpi/world.hpp"

namespace dt::comm::test {

/// Made by main.
mpi::World& the_world();

}  // namespace dt::comm::test
