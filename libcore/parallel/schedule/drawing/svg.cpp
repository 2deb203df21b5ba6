#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>

#include "base/numeric/integer.hpp"
#include "parallel/schedule/drawing/drawing.hpp"

namespace dt::parallel {

namespace {

// Units: pixels.
constexpr double margin = 64, top = 30, row_height = 26, row_pitch = 46, room_for_name = 26;
constexpr double least_width = 800, most_width = 40'000;

std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '&')
      escaped += "&amp;";
    else if (c == '"')
      escaped += "&quot;";
    else
      escaped += c;
  }
  return escaped;
}

struct LegendEntry {
  const char* css_class;
  const char* text;
};

class SvgDrawing {
 public:
  explicit SvgDrawing(const Drawing& drawing) : drawing_(drawing) {
    const double end_s = std::max(drawing.timeline.end_s(), 1e-12);
    double shortest_s = end_s;
    for (int rank = 0; rank < num_ranks(); ++rank) {
      rows_.push_back(computation_blocks(drawing, rank));
      for (const ComputationBlock& block : rows_.back()) {
        const double length_s = block.computing_s();
        if (length_s > 0) shortest_s = std::min(shortest_s, length_s);
      }
    }
    width_ = std::clamp(end_s / shortest_s * room_for_name, least_width, most_width);
    scale_ = width_ / end_s;
  }

  std::string run() {
    begin();
    axis();
    for (int rank = 0; rank < num_ranks(); ++rank) row(rank);
    for (const CommInterval& communication : drawing_.timeline.communications) line(communication);
    legend();
    return text_ + "</svg>\n";
  }

 private:
  int num_ranks() const { return static_cast<int>(drawing_.lists.size()); }
  double x(double at_s) const { return margin + at_s * scale_; }
  static double y(int rank) { return top + rank * row_pitch; }
  double bottom() const { return y(num_ranks()); }
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void begin() {
    const double width = margin + width_ + 40, height = bottom() + 34;
    add("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "viewBox=\"0 0 {:.0f} {:.0f}\">",
        width, height, width, height);
    add("<style>svg{{background:#fff}} text{{font:11px sans-serif;fill:#222}} "
        "rect{{stroke:#fff;stroke-width:.4}} rect,path{{fill-opacity:.9}} .f{{fill:#4477aa}} "
        ".b{{fill:#ee9944}} .w{{fill:#55aa77}} .r{{fill:#aa7799}} "
        ".later{{fill-opacity:.6}} .n{{fill:#fff;pointer-events:none}} .axis{{stroke:#ccc;stroke-width:1}} "
        ".send{{stroke:#555;stroke-width:.8}} .together{{stroke:#bb3344;stroke-width:4}}</style>");
  }

  /// Draws a tick at a round number of seconds about every 120 pixels.
  void axis() {
    const double about_s = 120 / scale_;
    const double power = std::pow(10, std::floor(std::log10(about_s)));
    const double step_s = about_s < 2 * power ? 2 * power : about_s < 5 * power ? 5 * power : 10 * power;
    for (int i = 0; i * step_s * scale_ <= width_; ++i) {
      add("<line class=\"axis\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>", x(i * step_s),
          top - 6, bottom());
      add("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x(i * step_s) + 2, top - 10,
          format_short_time(i * step_s));
    }
  }

  std::string unit_name(int unit) const { return escape(drawing_.unit_names[to_index(unit)]); }
  std::string what(const Action& a) const {
    const std::string of = a.micro_batch < 0 ? "" : fmt::format(", micro-batch {}", a.micro_batch);
    return fmt::format("{} {}{}", name_of(a.kind), unit_name(a.unit), of);
  }
  static std::string when(const Interval& interval) {
    return fmt::format("{} to {}", format_short_time(interval.start_s), format_short_time(interval.end_s));
  }

  void row(int rank) {
    add("<text x=\"4\" y=\"{:.1f}\">stage {}</text>", y(rank) + 17, rank);
    const ActionList& list = drawing_.lists[to_index(rank)];
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].computes()) computation(rank, list[i], drawing_.timeline.actions[to_index(rank)][i]);
    }
    for (const ComputationBlock& block : rows_[to_index(rank)]) name(rank, block);
  }

  const char* css_class(const Action& a) const {
    if (a.kind == ActionKind::forward) return "f";
    if (a.kind == ActionKind::recompute) return "r";
    return a.kind == ActionKind::backward_weight ? "w" : "b";
  }

  void computation(int rank, const Action& a, const Interval& interval) {
    const Pipeline& pipeline = drawing_.pipeline;
    const int stage = pipeline.stages.stage_of(a.unit);
    const auto& rank_of = pipeline.schedule.rank_of;
    const bool is_first = std::find(rank_of.begin(), rank_of.end(), rank) == rank_of.begin() + stage;
    add("<rect class=\"{}{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.0f}\"><title>{}: "
        "{}</title></rect>",
        css_class(a), is_first ? "" : " later", x(interval.start_s), y(rank), interval.duration_s() * scale_,
        row_height, what(a), when(interval));
  }

  void name(int rank, const ComputationBlock& block) {
    if (block.computing_s() * scale_ < room_for_name - 1) return;
    add("<text class=\"n\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x(block.start_s()) + 2, y(rank) + 17,
        block.label());
  }

  void line(const CommInterval& m) {
    const bool is_sent = m.receiver >= 0;
    if (!is_sent && m.when.end_s <= m.when.start_s) return;  // a single rank moves nothing
    const double below = y(m.rank) + row_height + 4;
    const bool goes_down = m.receiver > m.rank;
    const double from = !is_sent ? below : goes_down ? y(m.rank) + row_height : y(m.rank);
    const double to = !is_sent ? below : goes_down ? y(m.receiver) : y(m.receiver) + row_height;
    const std::string carried =
        is_sent ? fmt::format(" {}, to stage {}", name_of(m.action.payload), m.receiver) : "";
    add("<line class=\"{}\" x1=\"{:.2f}\" y1=\"{:.1f}\" x2=\"{:.2f}\" y2=\"{:.1f}\"><title>{}{}: "
        "{}</title></line>",
        is_sent ? "send" : "together", x(m.when.start_s), from, x(m.when.end_s), to, what(m.action), carried,
        when(m.when));
  }

  void legend() {
    static constexpr std::array entries{LegendEntry{"f", "forward"}, LegendEntry{"b", "backward, input half"},
                                        LegendEntry{"w", "backward, weight half"},
                                        LegendEntry{"r", "recompute"}};
    double at_x = margin;
    const double at_y = bottom() + 10;
    for (const LegendEntry& entry : entries) {
      add("<path class=\"{}\" d=\"M{:.0f} {:.0f}h12v12h-12z\"/><text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>",
          entry.css_class, at_x, at_y, at_x + 16, at_y + 10, entry.text);
      at_x += 140;
    }
    add("<text x=\"{:.0f}\" y=\"{:.0f}\">thin line: send · red line: gather or reduce</text>", at_x,
        at_y + 10);
  }

  const Drawing& drawing_;
  std::vector<std::vector<ComputationBlock>> rows_;
  double width_ = 0;  // width of the time axis
  double scale_ = 1;  // pixels a second
  std::string text_;
};

}  // namespace

std::string draw_svg(const Drawing& drawing) {
  return SvgDrawing(drawing).run();
}

}  // namespace dt::parallel
