// Whether computing on the CPU is at the machine's speed: figures as ratios to what this machine reaches in
// the same run, each beside what it should be at least. Steps are dt-train's own, as it reports them.
//
//   bench_table [DT_TRAIN SHARDS [PYTHON TORCH_SCRIPT]]
//
// Without arguments only kernels that memory bounds. // Work of a step: its matmuls, 6 FLOP a parameter and
// token, and causal attention, half the square, 3.5 times the forward with the backward. Best rate: of any
// matrix product measured here, dt's or oneDNN's.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "kernels/adamw.hpp"
#include "kernels/attention.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"
#include "kernels/norm.hpp"
#include "model/arithmetic.hpp"
#include "model/parameter_table.hpp"
#include "tensor/buffer.hpp"

namespace {

using namespace dt;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t sequence = 1024, micro_batch = 4, global_batch = 4;
const int threads = static_cast<int>(std::thread::hardware_concurrency());

/// The best of several calls, in seconds.
double best_s(const std::function<void()>& body, double at_least_s = 1) {
  body();
  double best = 1e9, total = 0;
  for (int i = 0; i < 5 || total < at_least_s; ++i) {
    const auto started = Clock::now();
    body();
    const double took = std::chrono::duration<double>(Clock::now() - started).count();
    best = std::min(best, took);
    total += took;
  }
  return best;
}

/// Tensors filled with small values that are not all equal.
class Tensors {
 public:
  Tensor floats(DType dtype, Shape shape) {
    const Context context(threads);
    const Arena::Scope scope(context.scratch());
    const Tensor source = context.scratch().allocate(DType::f32, shape);
    std::uint32_t state = 1;
    for (float& value : source.span<float>()) {
      state = state * 1664525 + 1013904223;
      value = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
    }
    const Tensor tensor = empty(dtype, std::move(shape));
    kernels::convert(context, source, tensor);
    return tensor;
  }
  Tensor empty(DType dtype, Shape shape) {
    buffers_.emplace_back(Device(), static_cast<std::size_t>(shape.numel()) * dtype_bytes(dtype));
    return Tensor(buffers_.back().data(), dtype, std::move(shape));
  }
  Tensor labels(std::int64_t count, std::int64_t end) {
    const Tensor tensor = empty(DType::i32, {count});
    for (std::int64_t i = 0; i < count; ++i)
      tensor.data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7919 % end);
    return tensor;
  }

 private:
  std::vector<Buffer> buffers_;
};

class Table {
 public:
  void row(const std::string& what, double measured, double at_least, const std::string& note) {
    fmt::print("{:<58} {:>7.3f}   ≥ {:<5.3f} {}  {}\n", what, measured, at_least,
               measured >= at_least ? "reached" : "MISSED ", note);
    std::fflush(stdout);
  }
  void at_most(const std::string& what, double measured, double bound, const std::string& note) {
    fmt::print("{:<58} {:>7.3f}   ≤ {:<5.3f} {}  {}\n", what, measured, bound,
               measured <= bound ? "reached" : "MISSED ", note);
    std::fflush(stdout);
  }
};

double sgemm_rate(std::int64_t M, std::int64_t N, std::int64_t K, bool transposed) {
  Tensors t;
  const Tensor a = t.floats(DType::f32, {M, K}), b = t.floats(DType::f32, {K, N}),
               c = t.empty(DType::f32, {M, N});
  omp_set_num_threads(threads);
  return 2.0 * double(M) * double(N) * double(K) /
         best_s(
             [&] {
               dnnl_sgemm('N', transposed ? 'T' : 'N', M, N, K, 1, a.data<float>(), K, b.data<float>(),
                          transposed ? K : N, 0, c.data<float>(), N);
             },
             0.2);
}

/// The best of dt's products at GPT-2's shapes, all three kinds, and of oneDNN's in fp32.
double best_matmul_rate(DType dtype) {
  Context context(threads);
  if (dtype == DType::bf16) context.set_arithmetic(Arithmetic::bf16);
  double best = 0;
  for (const std::int64_t R : {1024, 4096}) {
    for (const auto& [N, K] : {std::pair<std::int64_t, std::int64_t>{2304, 768},
                               {768, 768},
                               {3072, 768},
                               {768, 3072},
                               {8192, 768}}) {
      Tensors t;
      const Tensor x = t.floats(dtype, {R, K}), w = t.floats(dtype, {N, K}), y = t.floats(dtype, {R, N});
      const Tensor dw = t.empty(DType::f32, {N, K}), dx = t.empty(dtype, {R, K});
      const double work = 2.0 * double(R) * double(N) * double(K);
      best = std::max({best, work / best_s([&] { kernels::linear(context, x, w, {}, {}, y); }, 0.2),
                       work / best_s([&] { kernels::linear_backward_input(context, y, w, dx); }, 0.2),
                       work / best_s([&] { kernels::linear_backward_weight(context, y, x, dw, {}); }, 0.2)});
      if (dtype == DType::f32) best = std::max({best, sgemm_rate(R, N, K, true), sgemm_rate(R, N, K, false)});
    }
  }
  return best;
}

/// The machine's streaming rate: the faster of a copy and a triad (McCalpin 1995) over arrays far larger than
/// caches. On a shared machine it may double from one second to the next, so it is measured again and again
/// between the calls of what is compared with it.
class Streaming {
 public:
  /// Bytes a second of `body` and of streaming: of many pairs of both, the one whose ratio is their median,
  /// since memory of a shared machine is fast in one second and slow in the next.
  struct Rates {
    double body = 0, streaming = 0;
    double ratio() const { return body / streaming; }
  };
  Rates compare(double bytes, const std::function<void()>& body) {
    std::vector<Rates> pairs;
    body();
    const auto started = Clock::now();
    while (pairs.size() < 9 || seconds(Clock::now() - started) < 3) {
      const double copied = rate(8.0 * count, [&] { kernels::copy(context_, b_, a_); });
      const double streaming = std::max(copied, rate(12.0 * count, [&] { triad(); }));
      pairs.push_back({rate(bytes, body), streaming});
    }
    const auto median = pairs.begin() + static_cast<std::ptrdiff_t>(pairs.size() / 2);
    std::ranges::nth_element(pairs, median, {}, &Rates::ratio);
    return *median;
  }

 private:
  static constexpr std::int64_t count = std::int64_t{1} << 25;
  static double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }
  static double rate(double bytes, const std::function<void()>& body) {
    const auto started = Clock::now();
    body();
    return bytes / seconds(Clock::now() - started);
  }
  void triad() {
    float* a = a_.data<float>();
    const float *b = b_.data<float>(), *c = c_.data<float>();
#pragma omp parallel for simd num_threads(threads)
    for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] + 3.0f * c[i];
  }

  Context context_{threads};
  Tensors tensors_;
  Tensor a_ = tensors_.empty(DType::f32, {count}), b_ = tensors_.floats(DType::f32, {count}),
         c_ = tensors_.floats(DType::f32, {count});
};

/// GFLOP of causal attention, forward and backward, in FLOP/s.
double attention_rate(DType dtype, std::int64_t T) {
  Context context(threads);
  if (dtype == DType::bf16) context.set_arithmetic(Arithmetic::bf16);
  constexpr std::int64_t H = 12, D = 64;
  const kernels::AttentionShape shape{1, T, H, H, D};
  Tensors t;
  const Tensor qkv = t.floats(dtype, {T, 3 * H * D}), y = t.empty(dtype, {T, H * D}),
               lse = t.empty(DType::f32, {1, H, T});
  const Tensor dy = t.floats(dtype, {T, H * D}), dqkv = t.empty(dtype, {T, 3 * H * D});
  const double took = best_s([&] {
    kernels::attention(context, shape, {}, qkv, y, lse);
    kernels::attention_backward(context, shape, {}, dy, qkv, y, lse, dqkv);
  });
  return 3.5 * 2 * double(H) * double(T) * double(T) * double(D) / took;
}

/// Each byte counted once for each time that it must be read or written.
void report_bytes(DType dtype, Table& table) {
  const Context context(threads);
  const auto size = static_cast<double>(dtype_bytes(dtype));
  Streaming streaming;
  const auto row = [&](const char* name, double bytes, const std::function<void()>& body) {
    const Streaming::Rates rates = streaming.compare(bytes, body);
    table.row(
        fmt::format("{}, {}: bytes ÷ time ÷ streaming rate", name, dtype == DType::f32 ? "fp32" : "bf16"),
        rates.ratio(), 0.85, fmt::format("{:.1f} of {:.1f} GB/s", rates.body * 1e-9, rates.streaming * 1e-9));
  };
  {
    constexpr std::int64_t n = std::int64_t{1} << 26;
    Tensors t;
    const Tensor w = t.floats(DType::f32, {n}), g = t.floats(DType::f32, {n}), m = t.empty(DType::f32, {n}),
                 v = t.empty(DType::f32, {n});
    const Tensor copy = dtype == DType::f32 ? Tensor() : t.empty(dtype, {n});
    const kernels::AdamWStep step{1e-4, 0.9, 0.95, 1e-8, 0.1, 10, 1};
    row("AdamW", double(n) * (28 + (copy ? size : 0)),
        [&] { kernels::adamw(context, step, w, g, m, v, copy); });
  }
  {
    constexpr std::int64_t R = 65536, C = 768;
    Tensors t;
    const Tensor x = t.floats(dtype, {R, C}), y = t.empty(dtype, {R, C}), dy = t.floats(dtype, {R, C}),
                 dx = t.floats(dtype, {R, C});
    const Tensor w = t.floats(dtype, {C}), b = t.floats(dtype, {C}), dw = t.empty(DType::f32, {C}),
                 db = t.empty(DType::f32, {C});
    const Tensor mean = t.empty(DType::f32, {R}), rstd = t.empty(DType::f32, {R});
    const double elements = double(R) * C;
    row("layer norm", 2 * size * elements,
        [&] { kernels::layer_norm(context, x, w, b, 1e-5, y, mean, rstd); });
    row("layer norm backward", 4 * size * elements,
        [&] { kernels::layer_norm_backward(context, dy, x, w, mean, rstd, dx, y, dw, db); });
    row("RMS norm", 2 * size * elements, [&] { kernels::rms_norm(context, x, w, 1e-5, y, rstd); });
    row("RMS norm backward", 4 * size * elements,
        [&] { kernels::rms_norm_backward(context, dy, x, w, rstd, dx, y, dw); });
  }
  {
    constexpr std::int64_t R = 2048, V = 50257;
    Tensors t;
    const Tensor logits = t.floats(dtype, {R, V}), labels = t.labels(R, V), nll = t.empty(DType::f64, {R});
    row("cross-entropy", size * R * V, [&] { kernels::cross_entropy(context, logits, labels, nll); });
    row("cross-entropy with gradient", 2 * size * R * V,
        [&] { kernels::cross_entropy_gradient(context, labels, 1e-3, nll, logits); });
  }
}

struct Finished {
  std::string output;
  double peak_bytes = 0;
};

/// Runs a program to its end. Its standard error is ours.
std::optional<Finished> run(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]), ::close(ends[1]);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  Finished finished;
  std::array<char, 4096> text{};
  for (ssize_t got = 0; (got = ::read(ends[0], text.data(), text.size())) > 0;)
    finished.output.append(text.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  finished.peak_bytes = double(usage.ru_maxrss) * 1024;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return finished;
}

std::vector<Json> lines(const std::string& text) {
  std::vector<Json> list;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (Json line = Json::parse(text.substr(begin, end - begin), nullptr, false); line.is_object())
      list.push_back(std::move(line));
    begin = end + 1;
  }
  return list;
}

struct Tools {
  std::string train, shards, python, torch_script;
};

struct Trained {
  double tokens_per_s = 0;
  double peak_bytes = 0;
};

Trained train(const Tools& tools, const std::vector<std::string>& options) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("dt-bench-{}", ::getpid());
  std::vector<std::string> words{tools.train, "--model",       "gpt2-124m", "--data",  tools.shards,
                                 "--run",     folder.string(), "--json",    "--quiet", "--resume",
                                 "never",     "--peak-flops",  "1e12"};
  words.insert(words.end(), options.begin(), options.end());
  const auto finished = run(words);
  std::filesystem::remove_all(folder);
  if (!finished) throw std::runtime_error("dt-train failed");
  Trained result{.peak_bytes = finished->peak_bytes};
  for (const Json& line : lines(finished->output)) {
    if (line.value("kind", "") == "train" && line.value("step", 0) > 1)
      result.tokens_per_s = std::max(result.tokens_per_s, line["tokens_per_s"].get<double>());
  }
  return result;
}

Trained train_steps(const Tools& tools, const std::string& precision) {
  return train(tools, {"--precision", precision, "--steps", "5", "--global-batch",
                       std::to_string(global_batch), "--micro-batch", std::to_string(micro_batch)});
}

/// The best tokens/s of any mode, by precision.
std::map<std::string, double> torch_rates(const Tools& tools) {
  std::map<std::string, double> best;
  if (tools.python.empty()) return best;
  const auto finished =
      run({tools.python, tools.torch_script, "--threads", std::to_string(threads), "--global-batch",
           std::to_string(micro_batch), "--micro-batch", std::to_string(micro_batch)});
  if (!finished) return best;
  for (const Json& line : lines(finished->output)) {
    fmt::print("  PyTorch {} {}: {:.0f} tokens/s\n", line["torch"].get<std::string>(),
               line["mode"].get<std::string>(), line["tokens_per_s"].get<double>());
    double& rate = best[line["precision"].get<std::string>()];
    rate = std::max(rate, line["tokens_per_s"].get<double>());
  }
  return best;
}

/// Bytes by the usual formulas: states of the parameters, inputs of every block, and one block's activations
/// (Korthikanti et al. 2022, section 4; flash attention has no term in s²).
double formula_bytes(const model::ModelSpec& spec, bool is_16_bit) {
  const double parameters = double(model::ParameterTable(spec).num_parameters());
  const double sbh = double(sequence * micro_batch * spec.hidden), width = is_16_bit ? 1 : 2;
  return (is_16_bit ? 18 : 16) * parameters + width * sbh * (2 * double(spec.layers) + 34);
}

int report(const Tools& tools) {
  const model::ModelSpec spec = model::load_model_spec("gpt2-124m");
  const double tokens = global_batch * sequence;
  const double work =
      6 * double(model::matmul_parameters(spec)) * tokens +
      7 * double(global_batch) * double(sequence * sequence) * double(spec.hidden * spec.layers);
  Table table;
  fmt::print("GPT-2 124M, T={}, {} threads, micro-batch {}, {} sequences a step\n", sequence, threads,
             micro_batch, global_batch);

  const bool has_bf16 = kernels::multiplies_in(DType::bf16);
  std::map<std::string, double> best{{"fp32", best_matmul_rate(DType::f32)}};
  best["bf16"] = has_bf16 ? best_matmul_rate(DType::bf16) : best["fp32"];
  std::map<std::string, Trained> trained;
  std::map<std::string, double> torch;
  for (int round = 0; round < 2; ++round) {
    for (const char* precision : {"fp32", "bf16"}) {
      const Trained result = train_steps(tools, precision);
      trained[precision].tokens_per_s = std::max(trained[precision].tokens_per_s, result.tokens_per_s);
      trained[precision].peak_bytes = std::max(trained[precision].peak_bytes, result.peak_bytes);
    }
    if (round == 0) torch = torch_rates(tools);
  }
  best["fp32"] = std::max(best["fp32"], best_matmul_rate(DType::f32));
  if (has_bf16) best["bf16"] = std::max(best["bf16"], best_matmul_rate(DType::bf16));
  const bool multiplies_bf16 = best["bf16"] > best["fp32"];
  const std::map<std::string, double> roof{{"fp32", best["fp32"]},
                                           {"bf16", multiplies_bf16 ? best["bf16"] : best["fp32"]}};

  for (const char* precision : {"fp32", "bf16"}) {
    const double rate = trained[precision].tokens_per_s, bound = roof.at(precision);
    table.row(fmt::format("work ÷ step time ÷ best rate, {}", precision), work * rate / tokens / bound,
              precision == std::string("fp32") ? 0.80 : 0.70,
              fmt::format("{:.0f} tokens/s; best rate {:.0f} GFLOP/s", rate, bound * 1e-9));
    if (const double other = torch[precision]; other > 0) {
      const double at_roof = 0.85 * bound * tokens / work;
      table.row(fmt::format("tokens/s against PyTorch, {}", precision), rate / other,
                std::min(1.3, at_roof / other), fmt::format("{:.0f} tokens/s", other));
    }
  }
  const double ratio = trained["bf16"].tokens_per_s / trained["fp32"].tokens_per_s;
  if (multiplies_bf16) {
    table.row("tokens/s, bf16 ÷ fp32, ÷ ratio of the best rates", ratio / (best["bf16"] / best["fp32"]), 0.85,
              fmt::format("{:.3f} ÷ {:.3f}", ratio, best["bf16"] / best["fp32"]));
  } else {
    table.row(
        "tokens/s, bf16 ÷ fp32", ratio, 0.95,
        fmt::format("memory {:.2f} of fp32's", trained["bf16"].peak_bytes / trained["fp32"].peak_bytes));
  }
  for (const auto& [name, dtype] : {std::pair{"fp32", DType::f32}, {"bf16", DType::bf16}}) {
    if (dtype == DType::bf16 && !multiplies_bf16) continue;
    const double rate = attention_rate(dtype, 4096);
    table.row(fmt::format("attention T=4096, forward and backward, {}", name), rate / best[name], 0.55,
              fmt::format("{:.0f} GFLOP/s", rate * 1e-9));
  }
  for (const DType dtype : {DType::f32, DType::bf16}) report_bytes(dtype, table);
  for (const char* precision : {"fp32", "bf16"}) {
    const Trained result =
        train(tools, {"--precision", precision, "--steps", "2", "--recompute", "full", "--global-batch",
                      std::to_string(micro_batch), "--micro-batch", std::to_string(micro_batch)});
    const double formula = formula_bytes(spec, precision == std::string("bf16"));
    table.at_most(fmt::format("peak memory ÷ formula, full recompute, {}", precision),
                  result.peak_bytes / formula, 1.10,
                  fmt::format("{:.2f} of {:.2f} GB", result.peak_bytes * 1e-9, formula * 1e-9));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) {
    Table table;
    for (const DType dtype : {DType::f32, DType::bf16}) report_bytes(dtype, table);
    return 0;
  }
  if (argc != 3 && argc != 5) {
    fmt::print(stderr, "usage: bench_table [DT_TRAIN SHARDS [PYTHON TORCH_SCRIPT]]\n");
    return 2;
  }
  Tools tools{.train = argv[1], .shards = argv[2], .python = {}, .torch_script = {}};
  if (argc == 5) tools.python = argv[3], tools.torch_script = argv[4];
  return report(tools);
}
