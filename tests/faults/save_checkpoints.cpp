// save_checkpoints RUN STEPS WRITERS[:LISTED] [KEEP]: does to a run directory what a training run does,
// without the training. Claims a generation, resumes from the newest checkpoint, goes up to step STEPS, and
// saves after each step. WRITERS processes write parts. The checkpoints have an index of pieces if they have
// more than LISTED files. This process commits, announces the checkpoint in RUN/metrics.jsonl and prunes to
// the newest KEEP. Every element of step n's tensors depends on n.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "checkpoint/share.hpp"
#include "checkpoint/writer.hpp"
#include "model/parameter_table.hpp"
#include "run/run_directory.hpp"
#include "tensor/host_tensor.hpp"

namespace {

using namespace dt;
using checkpoint::SourcePiece;

model::ModelSpec small_model() {
  model::ModelSpec s = model::load_model_spec("llama-tiny");
  s.layers = 1;
  s.hidden = 32;
  s.query_heads = s.key_value_heads = 2;
  s.head_dim = 16;
  s.mlp_hidden = 48;
  s.vocabulary = 97;
  s.special = {96, {96}, {}};
  return s;
}

struct State {
  std::deque<std::vector<float>> memory;
  std::vector<SourcePiece> pieces;
};

State state_after(const model::ModelSpec& spec, std::int64_t step) {
  State state;
  const model::ParameterTable table(spec);
  for (const model::ParamSpec& param : table.params()) {
    for (const char* kind :
         {checkpoint::kind_weights, checkpoint::kind_first_moment, checkpoint::kind_second_moment}) {
      auto& values = state.memory.emplace_back(static_cast<std::size_t>(param.shape.numel()));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(step) + static_cast<float>(i % 512) / 1024;
      const Tensor data = host_tensor(values);
      state.pieces.push_back({param.name, kind, Piece::whole(param.shape), data});
    }
  }
  return state;
}

/// Starts the writer in a process of its own, which exits with 0 if it succeeded.
pid_t start_writer(const fs::path& folder, const checkpoint::Manifest& header, int writer, int writers,
                   const std::vector<SourcePiece>& pieces) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    checkpoint::write_shard(folder, header, writer, checkpoint::test::share_of(pieces, writer, writers));
    ::_exit(0);
  } catch (const Error& error) {
    std::fprintf(stderr, "writer %d: %s\n", writer, error.message().c_str());
    ::_exit(error.exit_code());
  }
}

fs::path save(const run::RunDirectory& run, const checkpoint::Manifest& header, int writers,
              const checkpoint::CommitOptions& options) {
  const State state = state_after(header.model, header.state.step);
  checkpoint::CheckpointTransaction unfinished(run.checkpoints_path(), header.state.step, header.generation);
  std::vector<pid_t> children;
  for (int w = 1; w < writers; ++w)
    children.push_back(start_writer(unfinished.path(), header, w, writers, state.pieces));
  const auto write_own = [&] {
    checkpoint::write_shard(unfinished.path(), header, 0,
                            checkpoint::test::share_of(state.pieces, 0, writers));
  };
  std::exception_ptr failure;
  try {
    write_own();
  } catch (const Error&) {
    failure = std::current_exception();
  }
  bool all_wrote = true;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    all_wrote = all_wrote && status == 0;
  }
  if (failure) std::rethrow_exception(failure);
  if (!all_wrote) throw environment_error("a writer of {} failed", unfinished.path().string());
  return unfinished.commit(header, writers, options);
}

void announce(const run::RunDirectory& run, std::int64_t step, const fs::path& path) {
  File metrics = File::open_append(run.path() / "metrics.jsonl");
  sync_directory(run.path());
  metrics.write(
      fmt::format("{{\"kind\":\"checkpoint\",\"step\":{},\"path\":\"{}\"}}\n", step, path.string()));
  metrics.sync();
  metrics.close();
}

void run_all(const fs::path& path, std::int64_t steps, const std::string& writers_and_listed,
             std::optional<std::int64_t> keep_last) {
  const int writers = std::atoi(writers_and_listed.c_str());
  checkpoint::CommitOptions options;
  if (const auto colon = writers_and_listed.find(':'); colon != std::string::npos)
    options.max_files_with_list = std::stoul(writers_and_listed.substr(colon + 1));
  const run::RunDirectory run(path);
  const auto newest = run.newest_complete();
  run.create();
  checkpoint::Manifest header;
  header.model = small_model();
  header.mesh.dp = writers;
  header.state.precision = "fp32";
  header.state.sequence_length = 32;
  header.parent = newest ? newest->path.filename().string() : "";
  const run::Generation own = run.claim(header.parent, newest ? newest->step : 0);
  header.generation = own.number;
  run.remove_leftovers();
  for (header.state.step = newest ? newest->step + 1 : 1; header.state.step <= steps; ++header.state.step) {
    announce(run, header.state.step, save(run, header, writers, options));
    run.prune(own.number, keep_last, 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 4) throw usage_error("usage: save_checkpoints RUN STEPS WRITERS[:LISTED] [KEEP]");
    run_all(argv[1], std::atoll(argv[2]), argv[3],
            argc > 4 ? std::optional<std::int64_t>(std::atoll(argv[4])) : std::nullopt);
    return 0;
  } catch (...) {
    const Error error = current_error();
    std::fprintf(stderr, "save_checkpoints: %s\n", error.message().c_str());
    return error.exit_code();
  }
}
