#include "train/report/reporter.hpp"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/io/reverse_lines.hpp"
#include "base/numeric/digest.hpp"
#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "train/report/metrics_history.hpp"

namespace dt::train {

namespace {

using Json = nlohmann::ordered_json;

/// Removes an incomplete last line. `file` must be open for appending to the file at its path.
void truncate_incomplete_line(const File& file) {
  const ReverseLines lines(file.path());
  const std::uint64_t end = lines.complete_bytes();
  if (end != lines.file_bytes() && ::ftruncate(file.descriptor(), static_cast<off_t>(end)) != 0)
    throw system_error(errno, "cut", file.path().string());
}

}  // namespace

Reporter::Reporter(Console& console, const std::optional<fs::path>& metrics, std::int64_t generation)
    : console_(console), generation_(generation) {
  if (!metrics) return;
  metrics_ = File::open_append(*metrics);
  truncate_incomplete_line(metrics_);
  sync_directory(metrics->parent_path());  // the file may be new
}

void Reporter::write_line(nlohmann::ordered_json json) {
  if (generation_ > 0) json["generation"] = generation_;
  const std::string line = json.dump() + '\n';
  if (metrics_.is_open()) metrics_.write(line);
  if (console_.json()) console_.write_text(line);
}

void Reporter::write_row(const std::string& text) {
  if (!console_.json()) console_.write_text(text);
}

void Reporter::train(const TrainRecord& r) {
  Json json{{"kind", "train"},
            {"step", r.step},
            {"loss", r.loss},
            {"lr", r.lr},
            {"grad_norm", r.grad_norm},
            {"tokens", r.tokens},
            {"targets", r.targets},
            {"step_s", r.step_s},
            {"tokens_per_s", r.tokens_per_s},
            {"mfu", r.mfu},
            {"mfu_base", r.mfu_base},
            {"compute_s", r.compute_s},
            {"exposed_comm_s", r.exposed_comm_s},
            {"data_wait_s", r.data_wait_s},
            {"data_digest", to_hex(r.data_digest)}};
  json["mean_loss"] = r.mean_loss;
  for (const auto& [name, value] : r.auxiliary) json["auxiliary_losses"][name] = value;
  if (r.attention) {
    json["max_attention_score"] = r.attention->max_score;
    json["clipped_heads"] = r.attention->num_clipped_heads;
  }
  if (r.loss_scale) json["loss_scale"] = *r.loss_scale;
  for (const SourceEpochs& source : r.sources)
    json["samples"][escape_invalid_utf8(source.name)] = source.samples;
  write_line(std::move(json));
  if (!has_heading_) {
    write_row(fmt::format("{:>8}  {:>9}  {:>9}  {:>9}  {:>9}  {:>14}  {:>9}\n", "step", "loss", "lr",
                          "grad norm", "tokens/s", fmt::format("MFU ({})", r.mfu_base), "UTC"));
    has_heading_ = true;
  }
  constexpr std::size_t date = 11;  // length of the date in 2026-01-31T12:00:00Z
  write_row(fmt::format("{:>8}  {:>9.5f}  {:>9.3e}  {:>9.4f}  {:>9.0f}  {:>13.1f}%  {:>9}\n", r.step,
                        r.mean_loss, r.lr, r.grad_norm, r.tokens_per_s, 100 * r.mfu,
                        utc_timestamp().substr(date)));
}

void Reporter::eval(const EvalRecord& r) {
  Json json{{"kind", "eval"}, {"step", r.step}};
  if (!r.checkpoint.empty()) json["checkpoint"] = escape_invalid_utf8(r.checkpoint);
  json["val_loss"] = r.val_loss;
  json["val_tokens"] = r.val_tokens;
  if (r.ema_val_loss) json["ema_val_loss"] = *r.ema_val_loss;
  std::string rows =
      fmt::format("{:>8}  {:>9.5f}  validation, {} tokens\n", r.step, r.val_loss, format_count(r.val_tokens));
  for (const SourceLoss& s : r.sources) {
    Json& source = json["sources"][escape_invalid_utf8(s.name)];
    source = {{"val_loss", s.loss}, {"val_tokens", s.tokens}};
    if (s.ema_loss) source["ema_val_loss"] = *s.ema_loss;
    rows +=
        fmt::format("{:>8}  {:>9.5f}  dataset {}, {} tokens\n", "", s.loss, s.name, format_count(s.tokens));
  }
  if (r.ema_val_loss)
    rows += fmt::format("{:>8}  {:>9.5f}  validation of the averaged weights\n", "", *r.ema_val_loss);
  write_line(std::move(json));
  write_row(rows);
}

void Reporter::checkpoint(const CheckpointRecord& r) {
  Json json{{"kind", r.num_nodes > 0 ? local_checkpoint_line_kind : "checkpoint"},
            {"step", r.step},
            {"path", escape_invalid_utf8(r.path)},
            {"bytes", r.bytes},
            {"stall_s", r.stall_s},
            {"write_s", r.write_s}};
  if (r.num_nodes > 0) json["nodes"] = r.num_nodes;
  if (r.num_without_copy > 0) json["without_copy"] = r.num_without_copy;
  write_line(std::move(json));
  if (metrics_.is_open()) metrics_.sync();
  const std::string where = r.num_nodes == 0   ? ""
                            : r.num_nodes == 1 ? " on this node only"
                                               : fmt::format(" on {} nodes", r.num_nodes);
  console_.info("saved {}{} ({} in {:.1f} s)", r.path, where, format_bytes(r.bytes), r.write_s);
}

void Reporter::event(const EventRecord& r) {
  Json json{{"kind", r.kind}, {"reason", escape_invalid_utf8(r.reason)}, {"step", r.step}};
  if (!r.checkpoint.empty()) json["checkpoint"] = escape_invalid_utf8(r.checkpoint);
  for (const checkpoint::Problem& problem : r.skipped) {
    json["passed_over"].push_back(
        {{"path", escape_invalid_utf8(problem.where)}, {"reason", escape_invalid_utf8(problem.what)}});
  }
  write_line(std::move(json));
}

void Reporter::close() {
  if (!metrics_.is_open()) return;
  metrics_.sync();
  metrics_.close();
}

}  // namespace dt::train
