#pragma once
// A step as people see it: a row for each rank of a pipeline, time to the right.

#include <span>
#include <string>
#include <vector>

#include "parallel/action.hpp"
#include "parallel/pipeline.hpp"
#include "parallel/timeline.hpp"

namespace dt::parallel {

struct Drawing {
  const Pipeline& pipeline;
  std::span<const ActionList> lists;  // of each stage rank
  const Timeline& timeline;           // of the same
  std::vector<std::string> unit_names;
};

/// What a rank computes in a row of one micro-batch on one of its virtual stages.
struct Block {
  char letter = 'F';    // forward, B backward, W its weight half where that waits
  int micro_batch = 0;  // as the list numbers it
  int chunk = 0;        // which of the rank's virtual stages, in the order of the model
  std::vector<Interval> computing;

  double start_s() const { return computing.front().start_s; }
  /// Without waits between.
  double computing_s() const;
  std::string label() const { return letter + std::to_string(micro_batch); }
};
std::vector<Block> blocks_of(const Drawing& drawing, int rank);

/// At most so many columns. A forward is wide enough for its name; a long step goes on in further bands of
/// rows, and of one that would fill more than four the middle is left out, which the text says.
std::string draw_text(const Drawing& drawing, int columns = 100);

/// A self-contained SVG 1.1 file: a <rect> with a <title> for each computation, lines for what ranks send or
/// bring together, axis and legend.
std::string draw_svg(const Drawing& drawing);

/// "2.50 ms"
std::string format_short_time(double seconds);

}  // namespace dt::parallel
