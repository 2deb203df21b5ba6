#pragma once
// Copies of a writer's files of a local checkpoint, sent to another node while ranks train. A
// channel (base/io/secure_channel.hpp) carries one copy:
//
//   sender    a request of 40 bytes: step, generation and writer, 8 bytes each, signed; size of the
//             piece file, all ones if there is none; size of the writer manifest. Writer -1 only asks whether
//             the sender is admitted: the answer ends the exchange.
//   receiver  an answer
//   sender    the piece file and the writer manifest, if the answer is empty
//   receiver  an answer, once both files are synced; the shard's commit syncs their names
//
// An answer is the length of a text, 4 bytes, and the text: an error, or nothing. Numbers are
// little-endian.

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/io/secure_channel.hpp"
#include "base/io/tcp.hpp"
#include "run/local/local_store.hpp"

namespace dt::run {

struct CopyRequest {
  static constexpr std::size_t num_bytes = 40;
  static constexpr std::uint64_t no_file = ~std::uint64_t{0};

  std::int64_t step = 0;
  std::int64_t generation = 0;
  std::int64_t writer = -1;  // -1: no files follow
  std::uint64_t piece_file_bytes = no_file;
  std::uint64_t writer_manifest_bytes = 0;
};
std::array<std::byte, CopyRequest::num_bytes> to_bytes(const CopyRequest& request);
CopyRequest parse_copy_request(std::span<const std::byte, CopyRequest::num_bytes> bytes);

/// The copies that a node accepts at present.
struct ExpectedCopies {
  std::int64_t step = -1;  // -1: no save is in progress
  std::int64_t generation = 0;
  std::vector<int> writers;  // ascending
  std::uint64_t max_piece_file_bytes = 0;
  std::uint64_t max_writer_manifest_bytes = 0;

  /// Returns "", or why a request is not among these copies.
  std::string why_refused(const CopyRequest& request) const;
};
/// Returns the copies of a checkpoint with this header that these writers may send. No file of a
/// writer may be larger than the state of the whole model.
ExpectedCopies expected_copies(const checkpoint::Manifest& header, std::int64_t generation,
                               std::vector<int> writers);

/// Asks whether the receiver admits this sender. Blocks until it answers.
/// Errors: as the channel; ConnectionError with the receiver's answer.
void probe_receiver(SecureChannel& channel);

/// Sends the files that `writer` wrote and synced in `folder`. Calls `accepted` when the receiver
/// accepts the request, before the files are sent. Blocks until the copy is synced.
/// Errors: as probe_receiver(); environment and input if this host cannot read the files.
void send_writer_files(SecureChannel& channel, const fs::path& folder, std::int64_t step,
                       std::int64_t generation, int writer, const std::function<void()>& accepted);

/// Handles one request at the receiving end. `place` is called for a request with files. It returns
/// the folder for them, or throws the reason for a refusal. Files that do not arrive whole are
/// removed. If the copy cannot be written, the sender receives the error.
/// Errors: as the channel.
/// After a crash: files remain in the folder.
void receive_writer_files(SecureChannel& channel, const std::function<fs::path(const CopyRequest&)>& place);

/// The sending end of copies: a rank's connection to the node that receives them.
class CopySender {
 public:
  /// Tries a receiver's endpoints in turn and keeps the first that answers. Some addresses of a
  /// host cannot be reached from others, or mean the sender's own host. A receiver that is silent
  /// for `timeout_s` has failed.
  /// Errors: ConnectionError with the failure of each endpoint.
  CopySender(std::span<const TcpListener::Endpoint> endpoints, const Secret& secret,
             const ChannelTerms& terms, double timeout_s);
  const std::string& address() const { return endpoint_.address; }

  /// Sends the files that `writer` wrote and synced in `folder`. Returns "" once the copy is
  /// synced, or why there is none: after several attempts, or when `timeout_s` has passed since the
  /// first. Blocks. `check` is called repeatedly; it throws if the copy is no longer needed.
  /// Errors: environment and input if this host cannot read the files; as `check`.
  std::string send(const fs::path& folder, std::int64_t step, std::int64_t generation, int writer,
                   const std::function<void()>& check) const;

 private:
  TcpListener::Endpoint endpoint_;
  Secret secret_;
  ChannelTerms terms_;
  double timeout_s_;
};

/// The receiving end of copies that other nodes send. Receives them into a store's unfinished shard while it
/// lives, on its own threads. It rejects strangers (see TcpListener), and any number of them cannot keep a
/// rank out.
class CopyReceiver {
 public:
  /// `store` must outlive the receiver. A sender that is silent for `timeout_s` has failed.
  /// Errors: environment if the host cannot listen on any of the addresses.
  CopyReceiver(const LocalStore& store, const Secret& secret, const ChannelTerms& terms, double timeout_s,
               std::span<const std::string> addresses);
  ~CopyReceiver();

  std::vector<TcpListener::Endpoint> endpoints() const { return listener_->endpoints(); }
  /// Stops listening on addresses that no sender has chosen.
  void close_other_addresses(std::span<const std::string> addresses) {
    listener_->close_other_addresses(addresses);
  }
  /// Accepts these copies from now on, and no others.
  /// Thread safety: any thread.
  void expect(ExpectedCopies expected);

 private:
  void serve(SecureChannel channel);
  fs::path begin(const CopyRequest& request);

  const LocalStore& store_;
  std::mutex mutex_;
  ExpectedCopies expected_;
  std::set<std::int64_t> receiving_;  // writers whose copies are arriving
  std::unique_ptr<TcpListener> listener_;
};

}  // namespace dt::run
