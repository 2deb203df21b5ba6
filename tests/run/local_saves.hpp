#pragma once
// Saves on the storage of a node, shared by the tests of local checkpoints.

#include <string>
#include <vector>

#include "checkpoint/sample.hpp"
#include "checkpoint/writer.hpp"
#include "run/local/local_store.hpp"

namespace dt::run::test {

/// A run and one host's store, with saves of two writers.
struct Stage {
  Stage() {
    run.create();
    own = run.claim("", 0);
    store.open();
    pieces = checkpoint::test::model_pieces(checkpoint::test::sample_manifest().model);
  }
  checkpoint::Manifest header(std::int64_t step) const {
    return checkpoint::test::sample_manifest(step, own.number);
  }
  std::string claim() const { return read_file(run.generation_path(own.number)); }
  void write(const LocalStore& into, std::int64_t step, int writer) const {
    checkpoint::write_shard(into.unfinished_path(step, own.number), header(step), writer,
                            checkpoint::test::share_of(pieces.list, writer, 2));
  }
  fs::path save(std::int64_t step, std::vector<int> writers) const {
    store.begin(step, own.number);
    for (const int writer : writers) write(store, step, writer);
    return store.commit(header(step), claim());
  }
  std::vector<LocalShard> shards() const {
    std::vector<checkpoint::Problem> problems;
    return store.shards(problems);
  }

  checkpoint::test::TempFolder folder;
  RunDirectory run{folder / "run"};
  Generation own;
  Secret key = Secret::generate();
  LocalStore store{folder / "local", run, "n1", key};
  checkpoint::test::Pieces pieces;
};

}  // namespace dt::run::test
