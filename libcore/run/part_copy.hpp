#pragma once
// What a writer wrote of a local checkpoint, copied to another node while ranks train. A channel
// (base/secure_channel.hpp) carries one copy:
//
//   sender    a request of 40 bytes: step, generation and writer, 8 bytes each, signed; bytes of the file of
//             pieces, all ones where there is none; bytes of the part. Writer -1 asks nothing but whether it
//             is welcome: the answer ends the exchange.
//   receiver  an answer
//   sender    the file of pieces and the part, where the answer is empty
//   receiver  an answer, once both files are synced; the share's commit syncs their names
//
// An answer is the length of a text, 4 bytes, and the text: what is wrong, or nothing. Numbers have the
// lowest byte first.

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/secure_channel.hpp"
#include "run/local_store.hpp"

namespace dt::run {

struct CopyRequest {
  static constexpr std::size_t num_bytes = 40;
  static constexpr std::uint64_t no_file = ~std::uint64_t{0};

  std::int64_t step = 0;
  std::int64_t generation = 0;
  std::int64_t writer = -1;  // nothing follows
  std::uint64_t piece_file_bytes = no_file;
  std::uint64_t part_file_bytes = 0;
};
std::array<std::byte, CopyRequest::num_bytes> to_bytes(const CopyRequest& request);
CopyRequest parse_copy_request(std::span<const std::byte, CopyRequest::num_bytes> bytes);

/// The copies that a node takes at the moment.
struct ExpectedCopies {
  std::int64_t step = -1;  // no save is under way
  std::int64_t generation = 0;
  std::vector<int> writers;  // ascending
  std::uint64_t max_piece_file_bytes = 0;
  std::uint64_t max_part_file_bytes = 0;

  /// Returns "" or why a request is not one of them.
  std::string why_refused(const CopyRequest& request) const;
};
/// Returns the copies of a checkpoint with this header that these writers may send: no file of a writer has
/// more bytes than the state of the whole model.
ExpectedCopies expected_copies(const checkpoint::Manifest& header, std::int64_t generation,
                               std::vector<int> writers);

/// Blocks until the other end has answered. Errors: those of the channel;
/// ConnectionError with what the other end says.
void ask_receiver(SecureChannel& channel);

/// Sends what `writer` has written and synced in `folder`; calls `accepted` once the other end takes it,
/// before its bytes go. Blocks until the copy is synced. Errors: as above; environment and input, where this
/// host cannot read it.
void send_part(SecureChannel& channel, const fs::path& folder, std::int64_t step, std::int64_t generation,
               int writer, const std::function<void()>& accepted);

/// The other end: takes one request. `place` is told of a request that asks for more than whether it is
/// welcome. It returns the folder that the files go into, or throws why the request is refused. Files that do
/// not arrive whole are removed. Errors: those of the channel; what keeps the copy from being written is told
/// the sender. A crash leaves files in the folder.
void receive_part(SecureChannel& channel, const std::function<fs::path(const CopyRequest&)>& place);

}  // namespace dt::run
