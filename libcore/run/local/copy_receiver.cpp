#include "run/local/copy_receiver.hpp"

#include <optional>

namespace dt::run {

namespace {

class ProofOfSecret : public Handshake {
 public:
  ProofOfSecret(const Secret& secret, const ChannelTerms& terms) : handshake(secret, terms) {}
  std::size_t num_expected_bytes() const override { return handshake.num_expected_bytes(); }
  std::optional<std::vector<std::byte>> receive(std::span<const std::byte> bytes) override {
    return handshake.receive(bytes);
  }
  AcceptorHandshake handshake;
};

}  // namespace

CopyReceiver::CopyReceiver(const LocalStore& store, const Secret& secret, const ChannelTerms& terms,
                           double timeout_s, std::span<const std::string> addresses)
    : store_(store) {
  listener_ = std::make_unique<TcpListener>(
      addresses, timeout_s, [secret, terms] { return std::make_unique<ProofOfSecret>(secret, terms); },
      [this](TcpConnection& connection, Handshake& admission) {
        serve(SecureChannel(connection, static_cast<ProofOfSecret&>(admission).handshake));
      });
}

/// Destroys the listener first, since its threads use the other members.
CopyReceiver::~CopyReceiver() {
  listener_.reset();
}

void CopyReceiver::expect(ExpectedCopies expected) {
  const std::lock_guard lock(mutex_);
  expected_ = std::move(expected);
}

void CopyReceiver::serve(SecureChannel channel) {
  std::optional<std::int64_t> writer;
  const auto end = [&] {
    const std::lock_guard lock(mutex_);
    if (writer) receiving_.erase(*writer);
  };
  try {
    receive_writer_files(channel, [&](const CopyRequest& request) {
      const fs::path folder = begin(request);
      writer = request.writer;
      return folder;
    });
  } catch (...) {
    end();
    throw;
  }
  end();
}

/// Admits one copy per writer at a time. A sender may have cancelled an attempt that this end still
/// sees.
fs::path CopyReceiver::begin(const CopyRequest& request) {
  const std::lock_guard lock(mutex_);
  if (const std::string why = expected_.why_refused(request); !why.empty())
    throw environment_error("refused: {}", why);
  if (!receiving_.insert(request.writer).second)
    throw environment_error("refused: an earlier copy of what rank {} wrote is still on its way",
                            request.writer);
  return store_.unfinished_path(request.step, request.generation);
}

}  // namespace dt::run
