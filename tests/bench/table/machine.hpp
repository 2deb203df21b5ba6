#pragma once
// The measured machine: nothing else may decide a bound of the table.

#include <limits>
#include <string>

#include "tensor/context.hpp"

namespace dt::table {

struct Cpu {
  std::string model;
  bool has_avx512_bf16 = false;
  bool has_amx_bf16 = false;  // it has the instructions and the system lets programs use them

  bool multiplies_bf16() const { return has_avx512_bf16 || has_amx_bf16; }
};

/// Returns the CPU that /proc/cpuinfo describes; without that file a CPU without bf16.
Cpu read_cpu();
std::string describe(const Cpu& cpu);

int num_threads();

/// A context whose products of 16-bit operands are made in the fastest arithmetic that dt has here.
class FastestContext : public Context {
 public:
  FastestContext();
};

/// Samples the machine's speed while the table is made, as the speed of a shared machine changes.
class Pace {
 public:
  void sample();
  /// Returns the least speed of the samples ÷ the most.
  double least() const { return least_ / most_; }

 private:
  double least_ = std::numeric_limits<double>::infinity(), most_ = 0;
};

}  // namespace dt::table
