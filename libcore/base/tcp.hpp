#pragma once
// Bytes between two hosts, for a few large transfers: every call blocks, and none for ever.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>  // Boost 1.74's headers, which come after this one, forget it
#include <vector>

#include "base/duplex.hpp"

namespace dt {

/// This host's addresses, "10.0.0.1" or "2001:db8::1", in the order of its interfaces; those that mean this
/// host on any host come last.
std::vector<std::string> own_addresses();

/// For one thread. Errors of every method: ConnectionError (of environment), naming the other end: it cannot
/// be reached, has gone, or no byte has passed for the timeout; what `check` throws, which is called several
/// times a second while a call waits. After an error only destroying is left to do.
class TcpConnection : public Duplex {
 public:
  using Check = std::function<void()>;
  /// To a listener at one of its addresses.
  TcpConnection(const std::string& address, std::uint16_t port, double timeout_s, Check check = {});
  ~TcpConnection() override;
  TcpConnection(TcpConnection&&) noexcept;

  void set_timeout(double timeout_s);
  /// Returns once the last byte is the system's to send.
  void write(std::span<const std::byte> bytes, std::span<const std::byte> tail = {}) override;
  void read(std::span<std::byte> bytes, std::span<std::byte> tail = {}) override;

 private:
  friend class TcpListener;
  struct State;
  explicit TcpConnection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The exchange that a new connection must pass before it is served.
class Admission {
 public:
  virtual ~Admission() = default;
  /// How many bytes it must send next; 0 once it is admitted.
  virtual std::size_t num_next() const = 0;
  /// Takes so many bytes. Returns what to answer, or nothing where the connection is to be closed.
  virtual std::optional<std::vector<std::byte>> take(std::span<const std::byte> bytes) = 0;
};

/// How many connections wait for their admission at most, and for how long. Strangers may open as many as
/// they like: beyond the limits the oldest connection of the same address, or of all, makes room for the
/// newest.
struct AdmissionLimits {
  double seconds = 2;
  std::size_t per_address = 16;
  std::size_t in_all = 256;
};

/// Takes connections and serves each that is admitted on a thread of its own.
class TcpListener {
 public:
  using Admit = std::function<std::unique_ptr<Admission>()>;
  using Serve = std::function<void(TcpConnection&, Admission&)>;
  struct Endpoint {
    std::string address;
    std::uint16_t port = 0;
  };

  /// Listens on these addresses of the host alone, on each at a port of the system's choice; addresses that
  /// cannot be had are left out. `serve` is given connections with this timeout. What it throws ends the
  /// connection, and nothing else. Errors: environment, where no address can be had.
  TcpListener(std::span<const std::string> addresses, double timeout_s, Admit admit, Serve serve,
              AdmissionLimits limits = {});
  /// Ends connections that are being served.
  ~TcpListener();
  std::vector<Endpoint> endpoints() const;
  /// Stops listening on all others.
  void keep_only(std::span<const std::string> addresses);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt
