#pragma once
// The sending end of copies: a rank's connection to the node that receives them
// (run/local/replication.hpp).

#include <functional>
#include <span>
#include <string>

#include "base/io/tcp.hpp"
#include "run/local/replication.hpp"

namespace dt::run {

/// Sends copies to one receiver.
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

}  // namespace dt::run
