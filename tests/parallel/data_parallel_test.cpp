// Gradients of one step, its micro-batches divided among ranks as threads.

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <mutex>
#include <vector>

#include "comm/threads/thread_group.hpp"
#include "model/model_spec.hpp"
#include "parallel/builders.hpp"
#include "parallel/lanes.hpp"
#include "parallel/model_storage.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

model::ModelSpec tied_spec() {
  return model::parse_hf_config(
      R"({"model_type": "llama", "vocab_size": 13, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2,
          "num_attention_heads": 2, "max_position_embeddings": 16, "tie_word_embeddings": true})",
      "test");
}

/// A gradient that depends on unit, micro-batch and element, and whose sum depends on the order.
float term(int unit, std::int64_t micro_batch, std::int64_t element) {
  return 1.0F / static_cast<float>(1 + (unit * 31 + micro_batch * 17 + element * 7) % 101);
}

/// What a step of `micro_batches` in `lanes` leaves in all groups of each rank.
std::vector<std::vector<float>> gradients(int ranks, std::int64_t micro_batches, std::int64_t lanes) {
  std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
  const model::ParameterTable table(tied_spec());
  const auto num_units = static_cast<int>(table.units().size());
  comm::run_threads(ranks, [&](comm::Communicator& world) {
    const Context context(1);
    const LanePlan plan = LanePlan(micro_batches, lanes).of_rank(world.rank(), ranks);
    ModelStorage storage(table, Precision{}, &plan, &world);
    storage.start_step();
    for (std::int64_t m = plan.first_micro_batch(); m < plan.first_micro_batch() + plan.num_micro_batches();
         ++m) {
      for (int unit = num_units - 1; unit >= 0; --unit) {
        for (const Tensor& gradient : storage.gradients(context, unit, m)) {
          std::int64_t element = 0;
          for (float& g : gradient.span<float>()) g += term(unit, m, element++);
        }
        storage.finish_micro_batch(context, unit, m);
      }
    }
    for (int unit = num_units - 1; unit >= 0; --unit) {
      storage.reduce(unit);
      storage.poll();
    }
    storage.complete_gradients(context);
    std::vector<float>& result = results[static_cast<std::size_t>(world.rank())];
    for (int group = 0; group < storage.num_groups(); ++group) {
      const auto flat = storage.group_gradient(group).span<float>();
      result.insert(result.end(), flat.begin(), flat.end());
    }
    return 0;
  });
  return results;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("every rank has the bits of one rank's step where its lanes are whole") {
  for (const std::int64_t micro_batches : {1, 2, 3, 4, 5, 8, 11}) {
    const std::vector<float> whole = gradients(1, micro_batches, 4).front();
    for (const int ranks : {2, 4}) {
      for (const std::vector<float>& gradient : gradients(ranks, micro_batches, 4)) {
        CHECK(same_bits(gradient, whole));
      }
    }
  }
}

TEST_CASE("any number of ranks has equal bits on all of them and the sum but for rounding") {
  const std::vector<float> whole = gradients(1, 7, 1).front();
  for (const int ranks : {2, 3, 5, 6, 9}) {
    const auto results = gradients(ranks, 7, ranks);
    for (const std::vector<float>& gradient : results) CHECK(same_bits(gradient, results.front()));
    bool close = true;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      close = close && std::abs(results.front()[i] - whole[i]) <= 1e-5F * std::abs(whole[i]);
    }
    CHECK(close);
  }
}
