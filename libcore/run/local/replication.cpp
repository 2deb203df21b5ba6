#include "run/local/replication.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"
#include "base/system/host.hpp"
#include "checkpoint/writer_manifest.hpp"
#include "model/parameter_table.hpp"

namespace dt::run {

namespace {

constexpr std::size_t longest_answer = std::size_t{1} << 12;

template <class T>
void put(std::byte*& at, T number) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    *at++ = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i));
}

template <class T>
T take(const std::byte*& at) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) number |= std::to_integer<std::uint64_t>(*at++) << (8 * i);
  return static_cast<T>(number);
}

void read_answer(SecureChannel& channel) {
  std::array<std::byte, 4> length_bytes;
  channel.read(length_bytes);
  const std::byte* at = length_bytes.data();
  const auto length = take<std::uint32_t>(at);
  if (length > longest_answer)
    throw ConnectionError(ErrorKind::environment,
                          fmt::format("the answer has {} bytes; expected: a short text", length));
  std::string text(length, '\0');
  channel.read(std::as_writable_bytes(std::span(text)));
  if (!text.empty()) throw ConnectionError(ErrorKind::environment, text);
}

void answer(SecureChannel& channel, const std::string& text) {
  const std::string_view said = std::string_view(text).substr(0, longest_answer);
  std::array<std::byte, 4> length_bytes;
  std::byte* at = length_bytes.data();
  put(at, static_cast<std::uint32_t>(said.size()));
  channel.write(length_bytes);
  channel.write(text_bytes(said));
}

void send_file(SecureChannel& channel, const File& file, std::uint64_t bytes) {
  std::vector<std::byte> buffer(channel_record_bytes);
  for (std::uint64_t at = 0; at < bytes; at += buffer.size()) {
    const auto record = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), bytes - at));
    file.read_at(at, record);
    channel.write(record);
  }
}

/// Files while they arrive. If writing fails, the remaining bytes are still read from the channel,
/// so that the sender then reads the error. Files that are not kept are removed.
class IncomingFiles {
 public:
  explicit IncomingFiles(SecureChannel& channel) : channel_(channel) {}
  ~IncomingFiles() { remove(); }

  void file(const fs::path& path, std::uint64_t bytes) {
    std::vector<std::byte> buffer(channel_record_bytes);
    File file;
    attempt([&] {
      file = File::create(path);
      paths_.push_back(path);
    });
    for (std::uint64_t left = bytes; left > 0;) {
      const auto record = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), left));
      channel_.read(record);
      attempt([&] { file.write(record); });
      left -= record.size();
    }
    attempt([&] {
      file.sync();
      file.close();
    });
  }
  template <class Action>
  void attempt(Action action) {
    if (!failure_.empty()) return;
    try {
      action();
    } catch (...) {
      failure_ = current_error().message();
    }
  }
  void end() {
    if (failure_.empty()) paths_.clear();
    remove();  // before the answer: a sender that reads the failure may let the shard be committed
    answer(channel_, failure_);
  }

 private:
  void remove() {
    std::error_code ignored;
    for (const fs::path& path : std::exchange(paths_, {})) fs::remove(path, ignored);
  }

  SecureChannel& channel_;
  std::vector<fs::path> paths_;
  std::string failure_;
};

/// Checks that the manifest is this writer's and describes the piece file that came with it.
/// Errors: input if it does not.
void check_writer_files(const fs::path& folder, const CopyRequest& request) {
  const int writer = static_cast<int>(request.writer);
  const checkpoint::WriterManifest manifest =
      checkpoint::load_writer_manifest(folder, request.step, request.generation, writer);
  const bool has_file = request.piece_file_bytes != CopyRequest::no_file;
  const std::size_t num_files = has_file ? 1 : 0;
  if (manifest.files.size() == num_files &&
      (!has_file || (manifest.files[0].name == checkpoint::piece_file_name(writer) &&
                     manifest.files[0].bytes == request.piece_file_bytes)))
    return;
  throw input_error("the writer manifest of rank {} does not name the file that came with it", writer);
}

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

std::array<std::byte, CopyRequest::num_bytes> to_bytes(const CopyRequest& r) {
  std::array<std::byte, CopyRequest::num_bytes> bytes;
  std::byte* at = bytes.data();
  put(at, r.step);
  put(at, r.generation);
  put(at, r.writer);
  put(at, r.piece_file_bytes);
  put(at, r.writer_manifest_bytes);
  return bytes;
}

CopyRequest parse_copy_request(std::span<const std::byte, CopyRequest::num_bytes> bytes) {
  const std::byte* at = bytes.data();
  CopyRequest r;
  r.step = take<std::int64_t>(at);
  r.generation = take<std::int64_t>(at);
  r.writer = take<std::int64_t>(at);
  r.piece_file_bytes = take<std::uint64_t>(at);
  r.writer_manifest_bytes = take<std::uint64_t>(at);
  return r;
}

std::string ExpectedCopies::why_refused(const CopyRequest& r) const {
  if (step < 0) return "no save is in progress";
  if (r.step != step || r.generation != generation)
    return fmt::format("a copy of step {}, generation {}, while step {}, generation {} is being saved",
                       r.step, r.generation, step, generation);
  if (!std::binary_search(writers.begin(), writers.end(), r.writer))
    return fmt::format("a copy of rank {}'s files, but that rank is not on the previous node", r.writer);
  if (r.piece_file_bytes != CopyRequest::no_file && r.piece_file_bytes > max_piece_file_bytes)
    return fmt::format("a file of {} bytes; expected: at most {}, the whole model's state",
                       r.piece_file_bytes, max_piece_file_bytes);
  if (r.writer_manifest_bytes > max_writer_manifest_bytes)
    return fmt::format("a writer manifest of {} bytes; expected: at most {}", r.writer_manifest_bytes,
                       max_writer_manifest_bytes);
  return {};
}

ExpectedCopies expected_copies(const checkpoint::Manifest& header, std::int64_t generation,
                               std::vector<int> writers) {
  const model::ParameterTable table(header.model);
  constexpr std::uint64_t element_bytes = 8;  // at most: of fp64
  const std::uint64_t num_kinds = 1 + header.state.optimizer.state_kinds.size();
  constexpr std::uint64_t head_bytes = std::uint64_t{1}
                                       << 16;  // metadata per piece in either file, with ample margin
  constexpr std::uint64_t digest_text_bytes = 32;
  ExpectedCopies expected{header.state.step, generation, std::move(writers), 0, 0};
  const std::uint64_t state_bytes =
      static_cast<std::uint64_t>(table.num_parameters()) * num_kinds * element_bytes;
  const std::uint64_t heads = head_bytes * (16 + num_kinds * table.params().size());
  expected.max_piece_file_bytes = state_bytes + heads;
  expected.max_writer_manifest_bytes = heads + state_bytes / digest_block_bytes * digest_text_bytes;
  return expected;
}

void probe_receiver(SecureChannel& channel) {
  channel.write(to_bytes(CopyRequest()));
  read_answer(channel);
}

void send_writer_files(SecureChannel& channel, const fs::path& folder, std::int64_t step,
                       std::int64_t generation, int writer, const std::function<void()>& accepted) {
  const fs::path pieces_path = folder / checkpoint::piece_file_name(writer);
  const File manifest = File::open_read(folder / checkpoint::writer_manifest_name(writer));
  File pieces;
  if (path_exists(pieces_path)) pieces = File::open_read(pieces_path);
  CopyRequest request{step, generation, writer, CopyRequest::no_file, manifest.size()};
  if (pieces.is_open()) request.piece_file_bytes = pieces.size();
  channel.write(to_bytes(request));
  read_answer(channel);
  accepted();
  if (pieces.is_open()) send_file(channel, pieces, request.piece_file_bytes);
  send_file(channel, manifest, request.writer_manifest_bytes);
  read_answer(channel);
}

void receive_writer_files(SecureChannel& channel, const std::function<fs::path(const CopyRequest&)>& place) {
  std::array<std::byte, CopyRequest::num_bytes> bytes;
  channel.read(bytes);
  const CopyRequest request = parse_copy_request(bytes);
  if (request.writer == -1) return answer(channel, "");
  fs::path folder;
  try {
    folder = place(request);
  } catch (const Error& error) {
    return answer(channel, error.message());
  }
  answer(channel, "");
  const int writer = static_cast<int>(request.writer);
  IncomingFiles receiving(channel);
  if (request.piece_file_bytes != CopyRequest::no_file)
    receiving.file(folder / checkpoint::piece_file_name(writer), request.piece_file_bytes);
  receiving.file(folder / checkpoint::writer_manifest_name(writer), request.writer_manifest_bytes);
  receiving.attempt([&] { check_writer_files(folder, request); });
  receiving.end();
}

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
        throw ConnectionError(ErrorKind::environment, fmt::format("{} port {} receives less than 1 MiB/s",
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
    throw environment_error("refused: an earlier copy of rank {}'s files is still in progress",
                            request.writer);
  return store_.unfinished_path(request.step, request.generation);
}

}  // namespace dt::run
