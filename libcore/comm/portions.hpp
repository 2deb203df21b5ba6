#pragma once
// How an operation on a device is cut, so that as much of it is on the host at a time as there is memory
// for. Reductions are of each element alone, so the bits are those of the whole.

#include <vector>

#include "comm/device_side.hpp"
#include "comm/parts.hpp"
#include "tensor/part.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

struct Portion {
  std::int64_t numel = 0;
  std::vector<Part> parts{};  // of its elements: each rank's, where ranks have parts
  std::vector<Span> reads{}, writes{};
};

/// Which sides of an operation are used: what is read may be what is written.
struct Sides {
  Tensor in, out;  // absent: unused
};

/// Of an operation for which all elements are alike; `portion_bytes` at most each. At least one.
std::vector<Portion> cut_alike(const Sides& sides, std::size_t portion_bytes);

/// How N elements are divided among a group's ranks.
struct Division {
  int rank, size;
  std::int64_t numel, granule;
  Part of(int of_rank) const { return part_of(of_rank, size, numel, granule); }
  PartOf parts() const {
    return [*this](int of_rank) { return of(of_rank); };
  }
};

/// Of one in which ranks have parts: each portion has a stretch of every rank's. The side that has fewer than
/// N elements is this rank's part.
std::vector<Portion> cut_parts(const Sides& sides, const Division& division, std::size_t portion_bytes);

}  // namespace dt::comm
