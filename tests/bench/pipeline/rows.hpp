#pragma once
// The reports that bench_pipeline prints.

namespace dt::bench {

void report_bubbles();
void report_memory();
void report_links();

}  // namespace dt::bench
