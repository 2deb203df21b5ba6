#include "run/gather_written.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/host_tensor.hpp"

namespace dt::run {

namespace {

Tensor view_of(std::vector<std::byte>& bytes) {
  return {bytes.data(), DType::u8, Shape{std::ssize(bytes)}, Device::host()};
}

void send(comm::Communicator& world, int to, std::vector<std::byte> message) {
  std::int64_t length = std::ssize(message);
  world.send(to, host_tensor(length)).wait_host();
  world.send(to, view_of(message)).wait_host();
}

std::vector<std::byte> receive(comm::Communicator& world, int from) {
  std::int64_t length = 0;
  world.receive(from, host_tensor(length)).wait_host();
  std::vector<std::byte> message(static_cast<std::size_t>(length));
  world.receive(from, view_of(message)).wait_host();
  return message;
}

}  // namespace

void gather_written(comm::Communicator& world, checkpoint::WrittenPieces& written) {
  for (int distance = 1; distance < world.size(); distance *= 2) {
    if (world.rank() % (2 * distance) != 0) return send(world, world.rank() - distance, written.message());
    if (world.rank() + distance < world.size()) written.add(receive(world, world.rank() + distance));
  }
}

}  // namespace dt::run
