#pragma once
// Draws a step for people: a row for each rank of a pipeline, time to the right.

#include <span>
#include <string>
#include <vector>

#include "parallel/schedule/action.hpp"
#include "parallel/schedule/pipeline.hpp"
#include "parallel/schedule/timeline.hpp"

namespace dt::parallel {

struct Drawing {
  const Pipeline& pipeline;
  std::span<const ActionList> lists;  // lists by stage rank
  const Timeline& timeline;           // timeline of these lists
  std::vector<std::string> unit_names;
};

/// A rank's computations in a row for one micro-batch on one of its virtual stages.
struct ComputationBlock {
  char letter = 'F';    // F forward, B backward, W the backward's weight half if that waits
  int micro_batch = 0;  // as the list numbers it
  int chunk = 0;        // number of the rank's virtual stage, in the order of the model
  std::vector<Interval> computing;

  double start_s() const { return computing.front().start_s; }
  /// Returns the seconds of computation, without the waits between.
  double computing_s() const;
  std::string label() const { return letter + std::to_string(micro_batch); }
};
std::vector<ComputationBlock> computation_blocks(const Drawing& drawing, int rank);

/// Draws a step as text of at most `columns` columns. A forward pass is wide enough for its name. A
/// long step continues in further bands of rows. If it would fill more than four, the middle is left
/// out, and the text says so.
std::string draw_text(const Drawing& drawing, int columns = 100);

/// Draws a step as a self-contained SVG 1.1 file: a <rect> with a <title> for each computation,
/// lines for transfers and collectives, axis and legend.
std::string draw_svg(const Drawing& drawing);

/// Returns "2.50 ms".
std::string format_short_time(double seconds);

}  // namespace dt::parallel
