#include "comm/locality.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.hpp"

namespace dt::comm {

std::optional<Placement> placement_of(std::span<const HostName> hosts) {
  const auto size = static_cast<int>(hosts.size());
  int per_host = 1;
  while (per_host < size && hosts[static_cast<std::size_t>(per_host)] == hosts[0]) ++per_host;
  if (per_host < 2 || per_host > NodeWindow::max_ranks || size % per_host != 0) return std::nullopt;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] != hosts[rank - rank % static_cast<std::size_t>(per_host)]) return std::nullopt;
  }
  const int num_hosts = size / per_host;
  if (num_hosts > 1 && !std::has_single_bit(static_cast<unsigned>(per_host))) return std::nullopt;
  return Placement{num_hosts, per_host};
}

Locality::Locality(int rank, int size, const std::string& host) : rank_(rank), size_(size) {
  std::copy_n(host.begin(), std::min(host.size(), host_.size()), host_.begin());
}

bool Locality::claim_opening() {
  return !std::exchange(is_claimed_, true);
}

void Locality::throw_if_abandoned() const {
  if (is_abandoned_) throw_given_up();
}

void Locality::place(std::span<const HostName> hosts) {
  DT_CHECK(std::ssize(hosts) == size_, "{} hosts of {} ranks", hosts.size(), size_);
  const std::optional<Placement> placement = placement_of(hosts);
  if (!placement) return;
  placement_ = *placement;
  window_ = std::make_shared<NodeWindow>(rank_ - first_neighbour(), num_neighbours());
}

NodeWindow::Offer Locality::offer() {
  return window_ && is_first_neighbour() ? window_->make() : NodeWindow::Offer{};
}

bool Locality::accept(const NodeWindow::Offer& offer) {
  if (!window_) return false;
  return is_first_neighbour() ? offer.descriptor >= 0 : window_->accept(offer);
}

void Locality::decide(bool all_have_it) {
  if (all_have_it) {
    window_->close_offer();
  } else {
    window_.reset();
  }
  state_ = all_have_it ? State::open : State::absent;
  for (const std::weak_ptr<std::function<void()>>& waiting : std::exchange(waiting_, {})) {
    if (const auto then = waiting.lock()) {
      (*then)();
    } else if (window_) {
      window_->break_off();
    }
  }
}

}  // namespace dt::comm
