#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda/attention/fused_attention.hpp"
#include "kernels/cuda/launch/kernel_key.hpp"
#include "kernels/cuda/matmul/matmul.hpp"

namespace dt::kernels::cuda {
namespace {

constexpr Device gpu = Device::gpu(0);
std::array<std::byte, 1024> memory;

Tensor tensor(int place, Shape shape = {2, 2}, DType dtype = DType::bf16) {
  return {&memory.at(static_cast<std::size_t>(place)), dtype, std::move(shape), gpu};
}

/// Counts the distinct keys of the work as it is and after each of the changes.
template <class Work>
std::size_t num_keys(const Work& work, const std::vector<std::function<void(Work&)>>& changes,
                     const std::function<WorkKey(const Work&)>& key) {
  std::set<std::string> keys{std::string(key(work).bytes())};
  for (const auto& change : changes) {
    Work changed = work;
    change(changed);
    keys.insert(std::string(key(changed).bytes()));
  }
  return keys.size();
}

TEST_CASE("a product's key holds all that it depends on", "[test-device]") {
  Context context(1, Device::host());
  const Matmul product{{tensor(0)}, {tensor(8)}, tensor(16, {2}), tensor(24), tensor(32)};
  const std::vector<std::function<void(Matmul&)>> changes{[](Matmul& p) { p.left.stored = tensor(1); },
                                                          [](Matmul& p) { p.left.transposed = true; },
                                                          [](Matmul& p) { p.right.stored = tensor(1); },
                                                          [](Matmul& p) { p.right.transposed = true; },
                                                          [](Matmul& p) { p.bias_N = tensor(1, {2}); },
                                                          [](Matmul& p) { p.bias_N = Tensor(); },
                                                          [](Matmul& p) { p.added_MN = tensor(1); },
                                                          [](Matmul& p) { p.added_MN = Tensor(); },
                                                          [](Matmul& p) { p.output_MN = tensor(1); },
                                                          [](Matmul& p) {
                                                            p.output_MN = tensor(32, {2, 2}, DType::f32);
                                                          },
                                                          [](Matmul& p) {
                                                            p.output_MN = tensor(32, {2, 4}).first_columns(2);
                                                          },
                                                          [](Matmul& p) {
                                                            p.left.stored = tensor(0, {1, 4});
                                                          }};
  const auto key = [&](const Matmul& p) { return key_of(context, p); };
  CHECK(num_keys<Matmul>(product, changes, key) == 1 + changes.size());
  const std::string before(key(product).bytes());
  context.set_arithmetic(Arithmetic::tf32);
  CHECK(key(product).bytes() != before);
  Matmul exact = product;
  exact.allows_tf32 = false;
  CHECK(key(exact).bytes() == before);
}

TEST_CASE("attention's key holds all that it depends on", "[test-device]") {
  struct Both {
    FusedAttention attention;
    FusedAttentionGradients gradients;
  };
  const Both both{{.shape = {1, 2, 1, 1, 2},
                   .qkv = {{tensor(0)}, {tensor(8)}, {tensor(16)}},
                   .y = {tensor(24)},
                   .lse_BHT = tensor(32, {1, 1, 2}),
                   .added_BTT = {}},
                  {{tensor(40)}, {{tensor(48)}, {tensor(56)}, {tensor(64)}}}};
  const std::vector<std::function<void(Both&)>> changes{
      [](Both& b) { b.attention.shape.batch = 2; },
      [](Both& b) { b.attention.mask = Mask::causal; },
      [](Both& b) { b.attention.qkv.q.first = 1; },
      [](Both& b) { b.attention.qkv.k.rows_RS = tensor(1); },
      [](Both& b) { b.attention.qkv.v.rows_RS = tensor(1); },
      [](Both& b) { b.attention.y.rows_RS = tensor(1); },
      [](Both& b) {
        b.attention.lse_BHT = tensor(1, {1, 1, 2});
      },
      [](Both& b) {
        b.attention.added_BTT = tensor(1, {1, 2, 2});
      },
      [](Both& b) { b.gradients.dy.rows_RS = tensor(1); },
      [](Both& b) { b.gradients.to.q.rows_RS = tensor(1); },
      [](Both& b) { b.gradients.to.k.rows_RS = tensor(1); },
      [](Both& b) { b.gradients.to.v.first = 1; }};
  CHECK(num_keys<Both>(both, changes, [](const Both& b) { return key_of(b.attention, b.gradients); }) ==
        1 + changes.size());
  CHECK(key_of(both.attention).bytes() != key_of(both.attention, both.gradients).bytes());
}

}  // namespace
}  // namespace dt::kernels::cuda
