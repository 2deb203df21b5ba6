#pragma once
// Where the ranks of a group are, and what that makes possible.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "comm/node_window.hpp"

namespace dt::comm {

using HostName = std::array<char, 64>;
HostName host_name_of(const std::string& host);

/// `num_hosts` runs of `per_host` ranks in a row that are on one host. A host that has several runs counts
/// as several.
struct Placement {
  int num_hosts = 0;
  int per_host = 0;
  bool operator==(const Placement&) const = default;
};

/// Finds the longest runs by which a group of ranks on these hosts may be divided: each run is a whole
/// subtree of combine(), so that to sum runs first leaves every bit. A run is all ranks where one host has
/// them (up to NodeWindow::max_ranks), else the largest power of two that divides the group so that no run
/// is on two hosts. Returns none where only single ranks would do.
std::optional<Placement> placement_of(std::span<const int> hosts);
std::optional<Placement> placement_of(std::span<const HostName> hosts);

/// Returns whether fewer bytes pass between runs where each sums its ranks' values first: one sum in place of
/// per_host values, which for 16-bit floats is of twice their size, since rounding comes last.
bool pays_to_sum_by_host(DType dtype, const Placement& placement);

/// Found out by the group's first large operation: ranks tell each other their hosts, the first rank of each
/// host makes a window, the others map it, and all have theirs if everyone could.
class Locality {
 public:
  enum class State { undecided, open, absent };
  /// No more than an intention. `host` names this rank's; who names another never shares memory with it.
  Locality(int rank, int size, const std::string& host);

  State state() const { return state_; }
  /// Once open.
  const Placement& placement() const { return placement_; }
  const std::shared_ptr<NodeWindow>& window() const { return window_; }

  /// True for the first who asks: that operation finds out.
  bool claim_opening();
  /// It will not, so nobody ever knows.
  void abandon() { is_abandoned_ = true; }
  /// Errors: environment, where it was abandoned.
  void throw_if_abandoned() const;
  /// `then` is called when it is decided, in the order in which operations asked; where that has gone, the
  /// rank has missed its turn, and breaks the window off.
  void when_decided(const std::shared_ptr<std::function<void()>>& then) { waiting_.push_back(then); }

  // The steps of finding out.
  const HostName& host() const { return host_; }
  void place(std::span<const HostName> hosts);
  /// Ranks on this host, in the group: once placed.
  int first_neighbour() const { return rank_ - rank_ % placement_.per_host; }
  int num_neighbours() const { return placement_.per_host; }
  /// The first neighbour's makes the window.
  NodeWindow::Offer offer();
  /// Whether this rank has what its first neighbour offers.
  bool accept(const NodeWindow::Offer& offer);
  void decide(bool all_have_it);

 private:
  bool is_first_neighbour() const { return rank_ == first_neighbour(); }

  int rank_;
  int size_;
  HostName host_;
  State state_ = State::undecided;
  bool is_claimed_ = false;
  Placement placement_{1, 1};
  std::shared_ptr<NodeWindow> window_;
  bool is_abandoned_ = false;
  std::vector<std::weak_ptr<std::function<void()>>> waiting_;
};

}  // namespace dt::comm
