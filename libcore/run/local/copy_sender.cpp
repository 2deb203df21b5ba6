#include "run/local/copy_sender.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "checkpoint/writer_manifest.hpp"

namespace dt::run {

namespace {

constexpr double handshake_timeout_s = 5;
/// Limits on attempts, and on copies that break off. Strangers may crowd a receiver, but its
/// refusals cost little. A copy that breaks off costs its bytes.
constexpr int max_attempts = 24, max_copies = 3;
/// Pause between attempts; doubled after each.
constexpr double first_pause_s = 0.1, longest_pause_s = 2;
/// Minimum speed of a copy. A slower copy has failed, even if it advances steadily.
constexpr double least_bytes_per_s = 1 << 20;

void pause(double seconds, const std::function<void()>& check) {
  for (const double end_s = monotonic_s() + seconds; monotonic_s() < end_s;) {
    check();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

double bytes_of(const fs::path& path) {
  return path_exists(path) ? static_cast<double>(File::open_read(path).size()) : 0;
}

}  // namespace

CopySender::CopySender(std::span<const TcpListener::Endpoint> endpoints, const Secret& secret,
                       const ChannelTerms& terms, double timeout_s)
    : secret_(secret), terms_(terms), timeout_s_(timeout_s) {
  constexpr int max_rounds = 3;  // strangers may crowd a receiver for a moment
  std::string failures;
  for (int round = 0; round < max_rounds; ++round) {
    failures.clear();
    for (const TcpListener::Endpoint& endpoint : endpoints) {
      try {
        TcpConnection connection(endpoint.address, endpoint.port, handshake_timeout_s);
        SecureChannel channel = SecureChannel::initiate(connection, secret_, terms_);
        probe_receiver(channel);
        endpoint_ = endpoint;
        return;
      } catch (const ConnectionError& error) {
        failures += (failures.empty() ? "" : "; ") + error.message();
      }
    }
  }
  throw ConnectionError(ErrorKind::environment, failures);
}

std::string CopySender::send(const fs::path& folder, std::int64_t step, std::int64_t generation, int writer,
                             const std::function<void()>& check) const {
  const double bytes = bytes_of(folder / checkpoint::piece_file_name(writer)) +
                       bytes_of(folder / checkpoint::writer_manifest_name(writer));
  const double give_up_s = monotonic_s() + timeout_s_;
  double pause_s = first_pause_s;
  int num_copies = 0;
  for (int attempt = 1;; ++attempt) {
    const double end_s = monotonic_s() + timeout_s_ + bytes / least_bytes_per_s;
    const auto check_time = [&] {
      check();
      if (monotonic_s() > end_s)
        throw ConnectionError(ErrorKind::environment, fmt::format("{} port {} takes less than 1 MiB/s",
                                                                  endpoint_.address, endpoint_.port));
    };
    try {
      TcpConnection connection(endpoint_.address, endpoint_.port, std::min(timeout_s_, handshake_timeout_s),
                               check_time);
      SecureChannel channel = SecureChannel::initiate(connection, secret_, terms_);
      connection.set_timeout(timeout_s_);
      send_writer_files(channel, folder, step, generation, writer, [&] { ++num_copies; });
      return {};
    } catch (const ConnectionError& error) {
      if (attempt == max_attempts || num_copies == max_copies || monotonic_s() + pause_s > give_up_s)
        return error.message();
    }
    pause(pause_s, check);
    pause_s = std::min(2 * pause_s, longest_pause_s);
  }
}

}  // namespace dt::run
