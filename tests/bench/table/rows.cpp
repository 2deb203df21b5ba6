#include "bench/table/rows.hpp"

#include <cstdio>
#include <fmt/format.h>

namespace dt::table {

namespace {

void print(const std::string& what, const std::string& measured, const std::string& verdict,
           const std::string& note) {
  fmt::print("{:<82} {:>6}  {:<14}  {}\n", what, measured, verdict, note);
  std::fflush(stdout);
}

}  // namespace

const char* name_of(DType dtype) {
  return dtype == DType::f32 ? "fp32" : "bf16";
}

void title(const std::string& text) {
  fmt::print("\n{}\n", text);
  std::fflush(stdout);
}

void at_least(const std::string& what, double measured, std::optional<double> bound,
              const std::string& note) {
  const std::string verdict =
      bound ? fmt::format("≥ {:.2f} {}", *bound, measured >= *bound ? "reached" : "MISSED") : "";
  print(what, fmt::format("{:.3f}", measured), verdict, note);
}

void at_most(const std::string& what, double measured, double bound, const std::string& note) {
  print(what, fmt::format("{:.3f}", measured),
        fmt::format("≤ {:.2f} {}", bound, measured <= bound ? "reached" : "MISSED"), note);
}

void not_measured(const std::string& what, const std::string& why) {
  print(what, "-", "not measured", why);
}

}  // namespace dt::table
