// Compares the optimizers with PyTorch's and with their papers' formulas. tests/golden/README.md says
// what the file holds.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/hdf5/hdf5_file.hpp"
#include "kernels/factored_moments.hpp"
#include "kernels/newton_schulz.hpp"
#include "optim/adafactor.hpp"
#include "optim/muon.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;

namespace {

Hdf5Reader golden_file() {
  const char* const tests = std::getenv("DT_TESTS");  // if the tests have been moved
  return Hdf5Reader(fs::path(tests ? tests : DT_TESTS_DIR) / "golden/optimizers.f64.h5");
}

std::set<std::string> cases_of(const Hdf5Reader& file) {
  std::set<std::string> names;
  for (const std::string& path : file.dataset_paths()) {
    if (const auto slash = path.find('/', 1); slash != path.npos) names.insert(path.substr(1, slash - 1));
  }
  return names;
}

/// Returns what a case asks for: "sgd_decay" is of sgd, with the hyper-parameters beside its weights.
optim::OptimizerRequest request_of(const Hdf5Reader& file, const std::string& name) {
  optim::OptimizerRequest request;
  request.kind = parse_name<optim::OptimizerKind>(name.substr(0, name.find('_'))).value();
  const std::vector<std::string> paths = file.dataset_paths();
  for (const optim::HyperParameter& parameter : optim::hyper_parameters()) {
    const std::string path = "/" + name + "/" + parameter.file_name();
    if (std::ranges::find(paths, path) == paths.end()) continue;
    const double value = file.read_all<double>(path).front();
    std::visit(
        [&](const auto& members) {
          auto& asked = request.*members.asked;
          asked = static_cast<std::remove_cvref_t<decltype(*asked)>>(value);
        },
        parameter.members);
  }
  return request;
}

/// Makes one step of a matrix with elements of type T.
template <class T>
void update_matrix(const Context& context, const kernels::OptimizerStep& step, const Shape& shape,
                   std::vector<T>& weights, std::vector<T>& gradient, std::vector<T>& momentum) {
  std::vector<T> u(weights.size()), x(weights.size());
  optim::update_momentum(context, step, host_tensor(gradient), host_tensor(momentum), host_tensor(u));
  kernels::newton_schulz(context, host_tensor(u).reshaped(shape), host_tensor(x).reshaped(shape));
  optim::apply_direction(context, step, shape[0], shape[1], host_tensor(x), host_tensor(weights));
}

/// Makes one step of a matrix, or of a vector if it has one row. `states` are its moments of rows, of columns
/// and of elements.
template <class T>
void update_factored(const Context& context, const kernels::OptimizerStep& step, const Shape& shape,
                     std::vector<T>& weights, std::vector<T>& gradient, std::vector<std::vector<T>>& states) {
  const auto R = static_cast<std::size_t>(shape[0]), C = static_cast<std::size_t>(shape[1]);
  const double beta = optim::second_moment_decay(step);
  kernels::Direction direction{.gradient = {Piece::whole(shape), 1, host_tensor(gradient)}};
  std::vector<double> rows(R), columns(C);
  if (R == 1) {
    direction.moments = host_tensor(states[2]);
    kernels::update_second_moments(context, direction.gradient.values, direction.moments, 1, beta,
                                   optim::moment_eps);
  } else {
    std::vector<std::int64_t> row_sums(R), column_sums(C);
    kernels::find_line_maxima(context, direction.gradient, rows, columns);
    for (double& row : rows) row = kernels::line_scale(row, shape[1]);
    for (double& column : columns) column = kernels::line_scale(column, shape[0]);
    kernels::add_line_squares(context, direction.gradient, rows, columns, row_sums, column_sums);
    for (std::size_t i = 0; i < R; ++i)
      rows[i] = static_cast<double>(row_sums[i]) / (rows[i] * rows[i]) / static_cast<double>(C);
    for (std::size_t i = 0; i < C; ++i)
      columns[i] = static_cast<double>(column_sums[i]) / (columns[i] * columns[i]) / static_cast<double>(R);
    states[0].resize(R);
    states[1].resize(C);
    optim::update_line_moments(rows, beta, host_tensor(states[0]));
    optim::update_line_moments(columns, beta, host_tensor(states[1]));
    optim::set_line_factors(host_tensor(states[0]), host_tensor(states[1]), rows, columns);
    direction.row_factors_MR = rows;
    direction.column_factors_MC = columns;
  }
  const auto rms = [&](const kernels::Direction& of) {
    std::vector<ExactSum> sum(1);
    kernels::add_direction_squares(context, of, sum);
    return std::sqrt(sum.front().value() / static_cast<double>(weights.size()));
  };
  const double weight_rms = rms({.gradient = {Piece::whole(shape), 1, host_tensor(weights)}});
  const std::vector<double> rates{optim::update_rate(step, weight_rms, rms(direction))};
  kernels::apply_factored_direction(context, direction, rates, step.lr * step.settings.weight_decay,
                                    host_tensor(weights));
}

/// Makes a case's steps with elements of type T. Returns the largest difference of any weight after
/// any step.
template <class T>
double largest_error(const Hdf5Reader& file, const std::string& name) {
  const Context context(1, Device::host());
  const auto start = file.read_all<double>("/start"), gradients = file.read_all<double>("/gradients"),
             rates = file.read_all<double>("/learning_rates"),
             expected = file.read_all<double>("/" + name + "/weights");
  kernels::OptimizerStep step{
      .settings = optim::resolve(request_of(file, name)), .lr = 0, .step = 0, .grad_scale = 1};
  const bool is_factored = optim::factors_moments(step.settings),
             is_matrix = optim::updates_matrices(step.settings) || is_factored;
  const auto extent = [&](const char* dim) {
    return static_cast<std::int64_t>(file.read_all<double>("/" + name + dim).front());
  };
  const Shape shape =
      is_matrix ? Shape{extent("/rows"), extent("/columns")} : Shape{static_cast<std::int64_t>(start.size())};
  const auto numel = static_cast<std::size_t>(shape.numel());
  std::vector<T> weights(start.begin(), start.begin() + shape.numel());
  std::vector<std::vector<T>> states(optim::state_kinds(step.settings).size(), std::vector<T>(numel));
  std::vector<Tensor> state_tensors;
  for (std::vector<T>& state : states) state_tensors.push_back(host_tensor(state));
  const std::vector<optim::ParameterRange> all{{0, static_cast<std::int64_t>(numel), true}};
  double largest = 0;
  for (std::size_t s = 0; s < rates.size(); ++s) {
    step.lr = rates[s];
    ++step.step;
    const auto begin = gradients.begin() + static_cast<std::ptrdiff_t>(s * start.size());
    std::vector<T> gradient(begin, begin + shape.numel());
    if (is_factored)
      update_factored(context, step, shape, weights, gradient, states);
    else if (is_matrix)
      update_matrix(context, step, shape, weights, gradient, states.back());
    else
      optim::update(context, step, all, host_tensor(weights), host_tensor(gradient), state_tensors);
    for (std::size_t i = 0; i < numel; ++i)
      largest = std::max(largest, std::abs(static_cast<double>(weights[i]) - expected[s * numel + i]));
  }
  return largest;
}

}  // namespace

TEST_CASE("every optimizer makes the steps of PyTorch and of its paper") {
  const Hdf5Reader file = golden_file();
  std::set<optim::OptimizerKind> seen;
  for (const std::string& name : cases_of(file)) {
    CAPTURE(name);
    CHECK(largest_error<double>(file, name) <= 1e-10);
    CHECK(largest_error<float>(file, name) <= 1e-5);
    seen.insert(request_of(file, name).kind);
  }
  CHECK(seen.size() == names_of<optim::OptimizerKind>().size());
}
