#pragma once
// Brings what the ranks of a save have written to the rank that commits it.

#include "checkpoint/written_pieces.hpp"
#include "comm/communicator.hpp"

namespace dt::run {

/// Adds the `written` of all other ranks to rank 0's, in the order of ranks, along a binomial tree. No rank
/// receives more than a logarithmic number of messages. Ranks on the way add what they receive to their own.
/// Memory: on rank 0 that of all pieces (see WrittenPieces), and as much again for a message.
/// Collective: called by all ranks together; blocks.
void gather_written(comm::Communicator& world, checkpoint::WrittenPieces& written);

}  // namespace dt::run
