#pragma once
// Cuts an operation on a device, so that as much of it is on the host at a time as there is memory for.
// Reductions treat each element alone, so the bits are those of the whole.

#include <vector>

#include "comm/device_side.hpp"
#include "comm/parts.hpp"
#include "tensor/part.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

struct Portion {
  std::int64_t numel = 0;
  std::vector<Part> parts{};  // each rank's part of the portion's elements, if ranks have parts
  std::vector<Span> reads{}, writes{};
};

/// The tensors that an operation uses. What is read may be what is written.
struct Sides {
  Tensor in, out;  // absent: unused
};

/// Cuts an operation for which all elements are alike. Returns at least one portion, each of at most
/// `portion_bytes`.
std::vector<Portion> cut_alike(const Sides& sides, std::size_t portion_bytes);

/// The division of N elements among a group's ranks.
struct Division {
  int rank, size;
  std::int64_t numel, granule;
  Part of(int of_rank) const { return part_of(of_rank, size, numel, granule); }
  PartOf parts() const {
    return [*this](int of_rank) { return of(of_rank); };
  }
};

/// Cuts an operation in which ranks have parts. Each portion has a stretch of every rank's part. A
/// tensor that has fewer than N elements is this rank's part.
std::vector<Portion> cut_parts(const Sides& sides, const Division& division, std::size_t portion_bytes);

}  // namespace dt::comm
