#pragma once
// The receiving end of copies that other nodes send (run/local/replication.hpp).

#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/io/tcp.hpp"
#include "run/local/replication.hpp"

namespace dt::run {

/// Receives copies into a store's unfinished shard while it lives, on its own threads. It rejects
/// strangers (see TcpListener), and any number of them cannot keep a rank out.
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
