// Bytes that strangers, and then ranks, send to the port of copies. The first byte chooses: a handshake
// with an acceptor, a handshake with an initiator, or the bytes after a handshake.

#include "base/io/secure_channel.hpp"
#include "fuzz/fuzz.hpp"
#include "run/local/replication.hpp"

namespace {

using namespace dt;
using Bytes = std::vector<std::byte>;

const Secret secret = Secret::from_hex(std::string(64, '5'));
const ChannelTerms terms{"copies of node 1", false};

/// A source of bytes; writes are discarded.
class Source : public Duplex {
 public:
  explicit Source(std::span<const std::byte> bytes) : bytes_(bytes) {}
  void write(std::span<const std::byte>, std::span<const std::byte>) override {}
  void read(std::span<std::byte> bytes, std::span<std::byte> tail) override {
    take(bytes);
    take(tail);
  }

 private:
  void take(std::span<std::byte> bytes) {
    if (bytes.size() > bytes_.size()) throw ConnectionError(ErrorKind::environment, "has gone");
    std::copy_n(bytes_.begin(), bytes.size(), bytes.begin());
    bytes_ = bytes_.subspan(bytes.size());
  }
  std::span<const std::byte> bytes_;
};

/// An initiator's end. Its other end is a handshake at first, and then keeps the bytes that it is sent.
class Sender : public Duplex {
 public:
  explicit Sender(AcceptorHandshake& handshake) : handshake_(handshake) {}
  void write(std::span<const std::byte> bytes, std::span<const std::byte> tail) override {
    sent.insert(sent.end(), bytes.begin(), bytes.end());
    sent.insert(sent.end(), tail.begin(), tail.end());
    if (handshake_.num_expected_bytes() == 0) return;
    answers_ = handshake_.receive(sent).value();
    sent.clear();
  }
  void read(std::span<std::byte> bytes, std::span<std::byte> tail) override {
    Source source(answers_);
    source.read(bytes, tail);
  }
  Bytes sent;

 private:
  AcceptorHandshake& handshake_;
  Bytes answers_;
};

void greet_acceptor(std::span<const std::byte> bytes) {
  Source source(bytes);
  SecureChannel::accept(source, secret, terms);
  dt_fuzz::require(false, "a peer without the secret is refused");
}

void answer_initiator(std::span<const std::byte> bytes) {
  Source source(bytes);
  SecureChannel::initiate(source, secret, terms);
  dt_fuzz::require(false, "a false receiver without the secret is refused");
}

/// Sends `bytes`, the words of a faulty rank: a request, and files.
void send_copy(std::span<const std::byte> bytes) {
  static const dt_fuzz::ScratchFolder folder;
  AcceptorHandshake handshake(secret, terms);
  Sender sender(handshake);
  SecureChannel out = SecureChannel::initiate(sender, secret, terms);
  const auto take = [&](std::size_t count) {
    const auto part = bytes.first(std::min(count, bytes.size()));
    bytes = bytes.subspan(part.size());
    return part;
  };
  const auto head = take(run::CopyRequest::num_bytes);
  if (head.size() < run::CopyRequest::num_bytes) return;
  const run::CopyRequest request = run::parse_copy_request(head.first<run::CopyRequest::num_bytes>());
  out.write(head);
  if (request.piece_file_bytes != run::CopyRequest::no_file) out.write(take(request.piece_file_bytes));
  out.write(take(request.writer_manifest_bytes));
  Source source(sender.sent);
  SecureChannel in(source, handshake);
  const run::ExpectedCopies expected{10, 1, {0, 1}, 1 << 20, 1 << 20};
  try {
    run::receive_writer_files(in, [&](const run::CopyRequest& asked) {
      if (const std::string why = expected.why_refused(asked); !why.empty())
        throw environment_error("{}", why);
      return folder.path();
    });
  } catch (const ConnectionError&) {
  }
  for (const fs::path& path : entries_of(folder.path())) {
    const std::string name = path.filename().string();
    dt_fuzz::require(name == "part-00000.json" || name == "part-00001.json" || name == "rank-00000.h5" ||
                         name == "rank-00001.h5",
                     "a copy has the names of its writer");
    fs::remove(path);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span bytes = std::as_bytes(std::span(data, size)).subspan(1);
  try {
    switch (data[0] % 3) {
      case 0:
        greet_acceptor(bytes);
        break;
      case 1:
        answer_initiator(bytes);
        break;
      default:
        send_copy(bytes);
    }
  } catch (const ConnectionError&) {
  }
  return 0;
}
