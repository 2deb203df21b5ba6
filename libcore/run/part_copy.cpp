#include "run/part_copy.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "checkpoint/part_file.hpp"

namespace dt::run {

namespace {

constexpr std::array<char, 8> magic = {'d', 't', '-', 'p', 'a', 'r', 't', '1'};
constexpr std::uint64_t no_file = ~std::uint64_t{0};
constexpr std::size_t part_bytes = std::size_t{1} << 20;

struct Greeting {
  std::array<char, 8> format = magic;
  PartToken token{};
  std::int64_t step = 0;
  std::int64_t generation = 0;
  std::int64_t writer = -1;  // nothing follows
  std::uint64_t piece_file_bytes = no_file;
  std::uint64_t part_file_bytes = 0;
};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

void read_answer(TcpConnection& connection) {
  constexpr std::uint32_t longest = 1 << 16;
  std::uint32_t length = 0;
  connection.read(bytes_of(length));
  std::string text(std::min(length, longest), '\0');
  connection.read(std::as_writable_bytes(std::span(text)));
  if (!text.empty()) throw environment_error("{}", text);
}

void answer(TcpConnection& connection, const std::string& text) {
  auto length = static_cast<std::uint32_t>(text.size());
  connection.write(bytes_of(length));
  connection.write(std::as_bytes(std::span(text)));
}

void send_file(TcpConnection& connection, const File& file, std::uint64_t bytes, Digester& digester) {
  std::vector<std::byte> buffer(part_bytes);
  for (std::uint64_t at = 0; at < bytes; at += part_bytes) {
    const auto part = std::span(buffer).first(std::min<std::uint64_t>(part_bytes, bytes - at));
    file.read_at(at, part);
    digester.update(part);
    connection.write(part);
  }
}

/// Files as they come. What cannot be written is taken from the connection all the same, so that the sender
/// listens to why.
class Receiving {
 public:
  explicit Receiving(TcpConnection& connection) : connection_(connection) {}

  void file(const fs::path& path, std::uint64_t bytes) {
    std::vector<std::byte> buffer(part_bytes);
    File file;
    attempt([&] { file = File::create(path); });
    for (std::uint64_t left = bytes; left > 0;) {
      const auto part = std::span(buffer).first(std::min<std::uint64_t>(part_bytes, left));
      connection_.read(part);
      digester_.update(part);
      attempt([&] { file.write(part); });
      left -= part.size();
    }
    attempt([&] {
      file.sync();
      file.close();
    });
  }
  void end(const fs::path& folder) {
    std::uint64_t expected = 0;
    connection_.read(bytes_of(expected));
    attempt([&] {
      if (digester_.value() != expected) throw environment_error("the bytes have changed on their way");
      sync_directory(folder);
    });
    answer(connection_, failure_);
  }

 private:
  template <class Action>
  void attempt(Action action) {
    if (!failure_.empty()) return;
    try {
      action();
    } catch (...) {
      failure_ = current_error().message();
    }
  }
  TcpConnection& connection_;
  Digester digester_;
  std::string failure_;
};

/// In a time that does not depend on where they differ.
bool is_equal(const PartToken& a, const PartToken& b) {
  int difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

}  // namespace

PartToken make_part_token() {
  std::random_device source;
  PartToken token;
  for (char& c : token) c = "0123456789abcdef"[source() % 16];
  return token;
}

void ask_receiver(TcpConnection& connection, const PartToken& token) {
  Greeting greeting;
  greeting.token = token;
  connection.write(bytes_of(greeting));
  read_answer(connection);
}

void send_part(TcpConnection& connection, const PartToken& token, const fs::path& folder, std::int64_t step,
               std::int64_t generation, int writer) {
  const fs::path pieces_path = folder / checkpoint::piece_file_name(writer);
  const File part = File::open_read(folder / checkpoint::part_file_name(writer));
  File pieces;
  if (path_exists(pieces_path)) pieces = File::open_read(pieces_path);
  Greeting greeting{magic, token, step, generation, writer, no_file, part.size()};
  if (pieces.is_open()) greeting.piece_file_bytes = pieces.size();
  Digester digester;
  connection.write(bytes_of(greeting));
  if (pieces.is_open()) send_file(connection, pieces, greeting.piece_file_bytes, digester);
  send_file(connection, part, greeting.part_file_bytes, digester);
  std::uint64_t digest = digester.value();
  connection.write(bytes_of(digest));
  read_answer(connection);
}

void receive_part(TcpConnection& connection, const PartToken& token, const LocalStore& store,
                  double timeout_s) {
  constexpr double greeting_timeout_s = 10;
  Greeting greeting;
  connection.set_timeout(greeting_timeout_s);
  connection.read(bytes_of(greeting));
  if (greeting.format != magic || !is_equal(greeting.token, token)) return;
  if (greeting.writer < 0) return answer(connection, "");
  connection.set_timeout(timeout_s);
  const fs::path folder = store.unfinished_path(greeting.step, greeting.generation);
  const int writer = static_cast<int>(greeting.writer);
  Receiving receiving(connection);
  if (greeting.piece_file_bytes != no_file)
    receiving.file(folder / checkpoint::piece_file_name(writer), greeting.piece_file_bytes);
  receiving.file(folder / checkpoint::part_file_name(writer), greeting.part_file_bytes);
  receiving.end(folder);
}

}  // namespace dt::run
