#include "train/evaluate/window_batches.hpp"

#include "plan/action_lists.hpp"

namespace dt::train {

void WindowBatches::add(ModelRuntime& runtime, const data::Mixture& dataset, const EvaluationRequest& request,
                        const ValidationWindows::SourceWindows& windows, std::vector<std::int64_t>& targets) {
  batches.push_back(data::validation_batch(dataset.source(windows.source), request.sequence_length,
                                           windows.first, windows.count, request.mask_documents));
  if (runtime.local().counts_targets()) targets[windows.source] += data::num_targets(batches.back());
  rows.push_back(runtime.micro_batches(batches.back(), windows.count));
  micro_batches.push_back(rows.back().list().front());
  sources.push_back(windows.source);
}

void forward(ModelRuntime& runtime, const WindowBatches& windows, std::int64_t rounds,
             const parallel::StepHooks& hooks) {
  const parallel::LocalTable& local = runtime.local();
  runtime.executor().run(
      plan::evaluation_list(local.layout(), local.place(), runtime.num_units(),
                            static_cast<int>(windows.micro_batches.size()), static_cast<int>(rounds)),
      windows.micro_batches, 0, hooks);
  runtime.context().synchronize();
}

}  // namespace dt::train
