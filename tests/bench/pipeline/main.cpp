// Measures pipelines against known bounds, through dt's own executor:
//   bench_pipeline bubble   units of known times, ranks as threads, against the papers' formulas
//   bench_pipeline memory   units of a real model: memory of the stages, against the walk of their lists
//   bench_pipeline links    under srun or mpirun, 4 ranks: units of known times, and messages that
//                           take time, against the walk with the rate that one pair of ranks measures
#include <fmt/format.h>
#include <string>

#include "base/error.hpp"
#include "bench/pipeline/rows.hpp"

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  try {
    if (what == "bubble")
      dt::bench::report_bubbles();
    else if (what == "memory")
      dt::bench::report_memory();
    else if (what == "links")
      dt::bench::report_links();
    else
      throw dt::usage_error("usage: bench_pipeline bubble|memory|links");
  } catch (const dt::Error& error) {
    fmt::print(stderr, "bench_pipeline: {}\n", error.message());
    return error.exit_code();
  }
}
