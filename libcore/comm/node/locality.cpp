#include "comm/node/locality.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "comm/core/reduction.hpp"

namespace dt::comm {

std::optional<Placement> placement_of(std::span<const int> hosts) {
  constexpr auto most = static_cast<std::size_t>(NodeWindow::max_ranks);
  const std::size_t size = hosts.size();
  if (size < 2) return std::nullopt;
  const auto are_runs_of = [&](std::size_t length) {
    if (length > most || size % length != 0) return false;
    for (std::size_t rank = 0; rank < size; ++rank) {
      if (hosts[rank] != hosts[rank - rank % length]) return false;
    }
    return true;
  };
  std::size_t run = size;
  if (!are_runs_of(run)) {
    run = std::bit_floor(std::min(size, most));
    while (run > 1 && !are_runs_of(run)) run /= 2;
  }
  if (run < 2) return std::nullopt;
  return Placement{static_cast<int>(size / run), static_cast<int>(run)};
}

std::optional<Placement> placement_of(std::span<const HostName> hosts) {
  std::map<HostName, int> numbers;
  std::vector<int> of_ranks;
  for (const HostName& host : hosts)
    of_ranks.push_back(numbers.try_emplace(host, static_cast<int>(numbers.size())).first->second);
  return placement_of(of_ranks);
}

bool is_hierarchical_sum_faster(DType dtype, const Placement& placement) {
  return dtype_bytes(dtype) * static_cast<std::size_t>(placement.per_host) >=
         2 * dtype_bytes(accumulator_dtype(dtype));
}

HostName host_name_of(const std::string& host) {
  HostName name{};
  std::copy_n(host.begin(), std::min(host.size(), name.size()), name.begin());
  return name;
}

Locality::Locality(int rank, int size, const std::string& host, Notify notify)
    : rank_(rank), size_(size), host_(host_name_of(host)), notify_(std::move(notify)) {}

bool Locality::claim_discovery() {
  return !std::exchange(is_claimed_, true);
}

void Locality::throw_if_cancelled() const {
  if (is_cancelled_) throw_cancelled();
}

void Locality::place(std::span<const HostName> hosts) {
  DT_CHECK(std::ssize(hosts) == size_, "{} hosts of {} ranks", hosts.size(), size_);
  const std::optional<Placement> placement = placement_of(hosts);
  if (!placement) return;
  placement_ = *placement;
  window_ = std::make_shared<NodeWindow>(
      rank_ - first_neighbour(), num_neighbours(),
      [notify = notify_, first = first_neighbour(), count = num_neighbours()] { notify(first, count); });
}

NodeWindow::Offer Locality::offer_window() {
  return window_ && is_first_neighbour() ? window_->make() : NodeWindow::Offer{};
}

bool Locality::accept_window(const NodeWindow::Offer& offer) {
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
      window_->cancel();
    }
  }
}

}  // namespace dt::comm
