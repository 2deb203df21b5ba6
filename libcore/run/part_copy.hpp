#pragma once
// What a writer wrote of a local checkpoint, copied to another node over TCP while ranks train. One
// connection a copy:
//
//   sender    a Greeting; then, unless it only asks whether it is welcome, the file of pieces, the part, and
//   the digest
//             (XXH3-64) of both
//   receiver  once both files are synced: the length (u32) of an error's text, 0 where there is none, and the
//   text
//
// Both ends are one program on like machines: numbers are as they lie in memory.

#include <array>
#include <string>

#include "base/tcp.hpp"
#include "run/local_store.hpp"

namespace dt::run {

/// What a sender must know, of 32 characters: strangers on the network are turned away.
using PartToken = std::array<char, 32>;
PartToken make_part_token();

/// Blocks until the other end has answered. Errors: environment: it is no receiver with this token, or has
/// gone.
void ask_receiver(TcpConnection& connection, const PartToken& token);

/// Sends what `writer` has written and synced in `folder`. Blocks until the copy is synced. Errors:
/// environment: this host's, or what the receiver says; as of TcpConnection.
void send_part(TcpConnection& connection, const PartToken& token, const fs::path& folder, std::int64_t step,
               std::int64_t generation, int writer);

/// The other end, into a store's unfinished folder. A wrong token, or what is no greeting, is not answered.
/// Errors: those of TcpConnection; what keeps the copy from being written is told the sender. A crash leaves
/// files in the unfinished folder.
void receive_part(TcpConnection& connection, const PartToken& token, const LocalStore& store,
                  double timeout_s);

}  // namespace dt::run
