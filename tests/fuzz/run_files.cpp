// run.json and metrics.jsonl: a start reads them, and writes its own record.
#include "fuzz/fuzz.hpp"
#include "train/report/metrics_history.hpp"
#include "train/start/run_record.hpp"

using namespace dt::train;
namespace fs = std::filesystem;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const dt_fuzz::ScratchFolder folder;
  const std::string_view text = dt_fuzz::text_of(bytes, size);
  folder.put("metrics.jsonl", text);
  dt_fuzz::accepted([&] {
    const fs::path metrics = folder.path() / "metrics.jsonl";
    static_cast<void>(has_evaluation(metrics, 10));
    static_cast<void>(has_evaluation(metrics, 10, 2));
    const bool is_announced = has_announced_local_checkpoint(metrics);
    dt_fuzz::require(announced_local_checkpoints(metrics).empty() != is_announced,
                     "announced ones are found");
    static_cast<void>(announced_local_checkpoints(metrics, dt::checkpoint::CheckpointEntry{"", 20, 2}));
    static_cast<void>(has_announced_local_checkpoint(metrics, {1, 2}));
  });
  folder.put("run.json", text);
  return dt_fuzz::accepted([&] {
    const RecordedOptions before = recorded_options(folder.path());
    static_cast<void>(recorded_option(folder.path(), "lr"));
    record_run(folder.path(), {{.name = "lr", .value = "0.5", .given = true}}, true, {}, 3, 20);
    const RecordedOptions after = recorded_options(folder.path());
    dt_fuzz::require(after.size() <= before.size() + 1 && after.at("lr").value == "0.5",
                     "what a start says is recorded");
  });
}
