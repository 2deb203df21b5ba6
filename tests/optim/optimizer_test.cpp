#include "optim/optimizer.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "optim/adafactor.hpp"
#include "optim/gradient_scale.hpp"
#include "optim/muon.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;

TEST_CASE("decay touches only segments that decay, and padding stays") {
  const Context context(1, Device::host());
  std::vector<double> w{1, 1, 7, 1}, g{0, 0, 5, 0}, m(4), v(4);
  const std::vector<optim::ParameterRange> segments{{0, 2, true}, {3, 1, false}};
  optim::update(context, {.settings = {.weight_decay = 0.5}, .lr = 0.1, .step = 1, .grad_scale = 1}, segments,
                host_tensor(w), host_tensor(g), std::array{host_tensor(m), host_tensor(v)});
  CHECK(w == std::vector<double>{0.95, 0.95, 7, 1});
}

TEST_CASE("a segment's factor of the learning rate scales its update and its decay") {
  const Context context(1, Device::host());
  std::vector<double> w{1, 1, 1}, g{2, 2, 2}, m(3), v(3);
  const std::vector<optim::ParameterRange> segments{{0, 1, true}, {1, 1, true, 0.5}, {2, 1, true, 0}};
  optim::update(context, {.settings = {.weight_decay = 0.5, .eps = 0}, .lr = 0.1, .step = 1, .grad_scale = 1},
                segments, host_tensor(w), host_tensor(g), std::array{host_tensor(m), host_tensor(v)});
  CHECK(w[0] == Approx(1 - 0.1 - 0.1 * 0.5).epsilon(1e-12));
  CHECK(w[1] == Approx(1 - 0.05 - 0.05 * 0.5).epsilon(1e-12));
  CHECK(w[2] == 1);
  CHECK(m[2] == m[0]);
}

TEST_CASE("parameters that lie beside each other and have the same settings are one segment") {
  std::vector<optim::ParameterRange> segments;
  for (const optim::ParameterRange& parameter : {optim::ParameterRange{8, 2, true},
                                                 {10, 3, true},
                                                 {13, 1, false},
                                                 {16, 4, false},
                                                 {20, 1, false},
                                                 {21, 2, false, 0.5},
                                                 {23, 1, false, 0.5},
                                                 {24, 1, false, 0.5, -5}})
    optim::append_range(segments, parameter);
  std::vector<std::array<std::int64_t, 3>> places;
  for (const optim::ParameterRange& s : segments) places.push_back({s.offset, s.numel, s.decays});
  CHECK(places ==
        std::vector<std::array<std::int64_t, 3>>{{8, 5, 1}, {13, 1, 0}, {16, 5, 0}, {21, 3, 0}, {24, 1, 0}});
}

TEST_CASE("the first step moves every weight by the learning rate against its gradient's sign") {
  const Context context(1, Device::host());
  std::vector<double> w{1, 1}, g{0.3, -2}, m(2), v(2);
  const std::vector<optim::ParameterRange> segments{{0, 2, false}};
  optim::update(context, {.settings = {.eps = 0}, .lr = 0.01, .step = 1, .grad_scale = 1}, segments,
                host_tensor(w), host_tensor(g), std::array{host_tensor(m), host_tensor(v)});
  CHECK(w[0] == Approx(0.99).epsilon(1e-12));
  CHECK(w[1] == Approx(1.01).epsilon(1e-12));
}

TEST_CASE("two steps agree with the update written out") {
  const Context context(1, Device::host());
  const double b1 = 0.9, b2 = 0.95, eps = 1e-8, wd = 0.1, lr = 0.02, scale = 0.5;
  std::vector<double> w{0.7}, m(1), v(1);
  double w_ref = 0.7, m_ref = 0, v_ref = 0;
  const std::vector<optim::ParameterRange> segments{{0, 1, true}};
  for (int t = 1; t <= 2; ++t) {
    std::vector<double> g{0.3 * t};
    const kernels::OptimizerStep step{.settings = {.weight_decay = wd, .beta1 = b1, .beta2 = b2, .eps = eps},
                                      .lr = lr,
                                      .step = t,
                                      .grad_scale = scale};
    optim::update(context, step, segments, host_tensor(w), host_tensor(g),
                  std::array{host_tensor(m), host_tensor(v)});
    const double gs = 0.3 * t * scale;
    m_ref = b1 * m_ref + (1 - b1) * gs;
    v_ref = b2 * v_ref + (1 - b2) * gs * gs;
    w_ref -= lr * wd * w_ref +
             lr * (m_ref / (1 - std::pow(b1, t))) / (std::sqrt(v_ref / (1 - std::pow(b2, t))) + eps);
  }
  CHECK(w[0] == Approx(w_ref).epsilon(1e-12));
}

TEST_CASE("clipping scales only norms above the limit") {
  CHECK(optim::clip_scale(0.5, 1.0) == 1.0);
  CHECK(optim::clip_scale(4.0, 1.0) == 0.25);
  CHECK(optim::clip_scale(4.0, 0) == 1.0);
}

TEST_CASE("every optimizer has a row, with as many kinds of state as its update takes") {
  std::vector<std::string> kinds;
  for (const auto& [name, kind] : enum_names(optim::OptimizerKind{})) {
    CAPTURE(name);
    const optim::OptimizerSettings settings = optim::resolve({.kind = kind});
    CHECK(settings.kind == kind);
    CHECK(optim::used_values(settings).size() == optim::optimizer(kind).hyper_parameters.size());
    if (!optim::updates_matrices(settings) && !optim::factors_moments(settings))
      CHECK(std::ssize(optim::state_kinds(settings)) == kernels::num_optimizer_states(settings));
    for (const optim::StateKind& state : optim::state_kinds(settings)) kinds.push_back(state.name);
  }
  CHECK(kinds == std::vector<std::string>{"adam_m", "adam_v", "sgd_m", "lion_m", "adam_m", "adam_v", "muon_m",
                                          "adafactor_r", "adafactor_c", "adafactor_v"});
}

TEST_CASE("states that lie apart from the weights are updated where they lie") {
  const Context context(1, Device::host());
  std::vector<double> w{1, 1, 1}, g{1, 1, 1}, m{7}, v{7};
  const std::vector<optim::ParameterRange> segments{{2, 1, false, 1, -2}};
  optim::update(context, {.settings = {.beta1 = 0.5, .beta2 = 0.5}, .lr = 0, .step = 1, .grad_scale = 1},
                segments, host_tensor(w), host_tensor(g), std::array{host_tensor(m), host_tensor(v)});
  CHECK(m.front() == 4);
  CHECK(v.front() == 4);
}

TEST_CASE("moments in bf16 are a type of AdamW's kinds of state, also beside Muon, and keep ranges apart") {
  using optim::OptimizerKind;
  CHECK(optim::users_of_moments() == std::vector<std::string>{"adamw", "muon"});
  for (const optim::StateKind& kind :
       optim::state_kinds(optim::resolve({.kind = OptimizerKind::muon, .moments = optim::MomentType::bf16})))
    CHECK(kind.dtype.has_value() == kind.name.starts_with("adam"));
  std::vector<optim::ParameterRange> ranges;
  for (const std::int64_t parameter : {0, 1})
    optim::append_range(
        ranges,
        {.offset = 4 * parameter, .numel = 4, .decays = true, .elements = {{.parameter = parameter}}});
  CHECK(ranges.size() == 2);
}

TEST_CASE("an average moves by a part of the distance to the weights, and stays at them") {
  const Context context(1, Device::host());
  std::vector<float> w{1, -3, 0.1F, 7}, average{3, -3, 0.1F, -1};
  optim::update_average(context, 0.75, host_tensor(w), host_tensor(average));
  CHECK(average == std::vector<float>{2.5, -3, 0.1F, 1});
  std::vector<double> w_f64{1}, average_f64{3};
  optim::update_average(context, 0.5, host_tensor(w_f64), host_tensor(average_f64));
  CHECK(average_f64[0] == 2);
}

TEST_CASE("AdamW's part of Muon takes its own learning rate, and the one of all without it") {
  const optim::OptimizerSettings settings =
      optim::resolve({.kind = optim::OptimizerKind::muon, .adam_lr = 0.3});
  kernels::OptimizerStep step{.settings = settings, .lr = 0.1, .step = 1, .grad_scale = 1};
  CHECK(optim::step_of_others(step, 0.2).lr == Approx(0.15));
  CHECK(optim::step_of_others(step, 0.2).settings.kind == optim::OptimizerKind::adamw);
  step.settings.adam_lr = 0;
  CHECK(optim::step_of_others(step, 0.2).lr == 0.1);
}

TEST_CASE("Adafactor's rate is the schedule's, and with its options the paper's") {
  kernels::OptimizerStep step{.settings = optim::resolve({.kind = optim::OptimizerKind::adafactor}),
                              .lr = 0.9,
                              .step = 4,
                              .grad_scale = 1};
  CHECK(optim::update_rate(step, 0.5, 0.7) == 0.9);
  CHECK(optim::update_rate(step, 0.5, 3) == Approx(0.3));
  step.settings.relative_step = true;
  CHECK(optim::update_rate(step, 0.5, 1) == 0.5);
  step.settings.scale_parameter = true;
  CHECK(optim::update_rate(step, 0.2, 1) == 0.1);
  CHECK(optim::update_rate(step, 0, 1) == Approx(0.5e-3));
  step.settings.clip_threshold = 0;
  CHECK(optim::update_rate(step, 0.2, 9) == 0.1);
  CHECK(optim::second_moment_decay(step) == Approx(1 - std::pow(4, -0.8)));
}

TEST_CASE("hyper-parameters that a request leaves out are the optimizer's own") {
  using optim::OptimizerKind;
  CHECK(optim::resolve({}).beta2 == 0.95);
  CHECK(optim::resolve({.kind = OptimizerKind::lion}).beta2 == 0.99);
  CHECK(optim::resolve({.kind = OptimizerKind::lion, .beta2 = 0.5}).beta2 == 0.5);
  CHECK(optim::resolve({.kind = OptimizerKind::sgd}).momentum == 0.9);
  CHECK(optim::resolve({.kind = OptimizerKind::sgd}).weight_decay == 0);
  const auto plain = optim::resolve({.kind = OptimizerKind::sgd, .momentum = 0});
  CHECK(optim::state_kinds(plain).empty());
  CHECK(kernels::num_optimizer_states(plain) == 0);
  for (const optim::OptimizerRequest& request :
       {optim::OptimizerRequest{.beta1 = 1},
        {.kind = OptimizerKind::sgd, .momentum = 1},
        {.kind = OptimizerKind::muon, .momentum = 0},
        {.kind = OptimizerKind::sgd, .momentum = 0, .nesterov = true}})
    CHECK_THROWS_AS(optim::resolve(request), Error);
}
