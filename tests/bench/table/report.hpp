#pragma once
// The table's reports, by section.

#include <optional>

#include "bench/table/machine.hpp"
#include "bench/table/program.hpp"
#include "bench/table/steps.hpp"

namespace dt::table {

struct Tools {
  Cpu cpu;
  std::optional<DtTrain> train;
  std::optional<Torch> torch;
};

/// The wanted sections; steps are compared with the rates of products.
struct Sections {
  bool products, attention, steps;
};

/// Reports products, attention and steps of GPT-2 124M, and of one block and the head of llama-1b.
void report_speed(const Tools& tools, const Sections& sections);

/// Reports the most memory that training holds, against the usual formulas.
void report_memory(const Tools& tools);

/// Returns GPT-2 124M at its full length.
Workload gpt2_124m();

}  // namespace dt::table
