#include "comm/algorithms/window_exchange.hpp"

#include <cstring>

namespace dt::comm {

namespace {

/// Stands in front of each part in a slot.
struct Header {
  std::uint64_t bytes;
};

}  // namespace

WindowExchange::WindowExchange(const Caller& caller, const Collective& call)
    : window_(caller.locality->window()),
      ranges_(call.ranges),
      in_(call.in.raw()),
      out_(call.out.raw()),
      element_bytes_(dtype_bytes(call.dtype)),
      most_bytes_(window_->piece_bytes() - sizeof(Header)),
      content_(static_cast<std::uint64_t>(call.kind) << 8 | static_cast<std::uint64_t>(call.dtype)),
      segment_(window_->allot(1)) {}

WindowExchange::~WindowExchange() {
  if (!is_done_) window_->cancel();
}

bool WindowExchange::operator()(int index, Round& round) {
  if (index == 0) {
    round.ready = [this] { return window_->may_begin(NodeWindow::Step::copy, segment_); };
    round.then = [this] { put(); };
  }
  if (index == 1) {
    round.ready = [this] { return window_->may_begin(NodeWindow::Step::reduce, segment_); };
    round.then = [this] { take(); };
  }
  return index < 2;
}

void WindowExchange::copy_if_taken(const std::byte* from, std::byte* to, const Range& part) const {
  if (part.count > 0 && bytes_of(part) <= most_bytes_) std::memcpy(to, from, bytes_of(part));
}

/// Tells the sizes of larger parts, too, so that a rank that expects another size does not wait for them.
void WindowExchange::put() const {
  const int rank = window_->rank(), size = window_->size();
  for (int distance = 1; distance < size; ++distance) {
    const int to = (rank + distance) % size;
    const Range& given = part(to);
    const Header header{bytes_of(given)};
    std::byte* slot = window_->piece(rank, segment_, to);
    std::memcpy(slot, &header, sizeof header);
    copy_if_taken(at(in_, given), slot + sizeof header, given);
  }
  window_->describe(segment_, content_);
  window_->finish(NodeWindow::Step::copy, segment_);
  const Range& own = part(rank);
  copy_if_taken(at(in_, own), at(out_, arriving(rank)), own);
}

void WindowExchange::take() {
  const int rank = window_->rank(), size = window_->size();
  window_->check_content(segment_, content_);
  for (int distance = 1; distance < size; ++distance) {
    const int from = (rank - distance + size) % size;
    const Range& got = arriving(from);
    const std::byte* slot = window_->piece(from, segment_, rank);
    Header header{};
    std::memcpy(&header, slot, sizeof header);
    DT_CHECK(header.bytes == bytes_of(got), "rank {} expects {} bytes from rank {}, which sends {}", rank,
             bytes_of(got), from, header.bytes);
    copy_if_taken(slot + sizeof header, at(out_, got), got);
  }
  window_->finish(NodeWindow::Step::gather, segment_);
  is_done_ = true;
}

}  // namespace dt::comm
