#pragma once
// A rank's way to the node that takes its copies (run/part_copy.hpp).

#include <functional>
#include <span>
#include <string>

#include "base/tcp.hpp"
#include "run/part_copy.hpp"

namespace dt::run {

/// Sends copies to one receiver.
class CopySender {
 public:
  /// Tries the endpoints of a receiver in turn and keeps the first that answers: some addresses of a host
  /// cannot be reached from others, or mean the sender's own host. `timeout_s`: after which a receiver that
  /// is silent has failed. Errors: ConnectionError, with what is wrong with each.
  CopySender(std::span<const TcpListener::Endpoint> endpoints, const Secret& secret,
             const ChannelTerms& terms, double timeout_s);
  const std::string& address() const { return endpoint_.address; }

  /// Sends what `writer` has written and synced in `folder`. Returns "" once the copy is synced, or why none
  /// has been made: after several attempts, or when `timeout_s` has passed since the first. Blocks; `check`,
  /// called now and then, throws where the copy is no longer needed. Errors: environment and input, where
  /// this host cannot read what it has written.
  std::string send(const fs::path& folder, std::int64_t step, std::int64_t generation, int writer,
                   const std::function<void()>& check) const;

 private:
  TcpListener::Endpoint endpoint_;
  Secret secret_;
  ChannelTerms terms_;
  double timeout_s_;
};

}  // namespace dt::run
