#include <catch2/catch.hpp>

#include "profile/profiles.hpp"
#include "profile/step_profile.hpp"

using namespace dt_test;

namespace {

double sum_of(const TimeBreakdown& shares) {
  double sum_s = 0;
  for (const auto& [name, seconds] : shares) sum_s += seconds;
  return sum_s;
}

}  // namespace

TEST_CASE("a step's time is its actions', without communication, what waits, and what is left") {
  const TimeBreakdown shares = host_time_breakdown(small_profile());
  CHECK(sum_of(shares) == Approx(10));
  CHECK(shares[0] == std::pair<std::string, double>("forward", 2.5));
  CHECK(shares[1] == std::pair<std::string, double>("backward_input", 2));
  CHECK(shares[2] == std::pair<std::string, double>("send", 0.5));
  CHECK(shares[3].first == "exposed communication");
  CHECK(shares[3].second == Approx(1.5));
  CHECK(shares[4] == std::pair<std::string, double>("waiting for data", 1));
  CHECK(shares[5].first == "other host work");
  CHECK(shares[5].second == Approx(2.5));
}

TEST_CASE("of a device its own time counts, and what the host does beside") {
  StepProfile profile = small_profile();
  profile.is_on_device = true;
  const TimeBreakdown device = device_time_breakdown(profile), host = host_time_breakdown(profile);
  CHECK(sum_of(device) == Approx(10));
  CHECK(device[0] == std::pair<std::string, double>("forward", 2.5));
  CHECK(device.back() == std::pair<std::string, double>("idle GPU", 4));
  CHECK(sum_of(host) == Approx(10));
  CHECK(host[0] == std::pair<std::string, double>("enqueuing", 5));
}

TEST_CASE("a summary is in percent of the step") {
  StepProfile profile = small_profile();
  CHECK(summarize_step(profile) ==
        "10 s: forward 25.0 %, backward_input 20.0 %, send 5.0 %, exposed communication 15.0 %, waiting for "
        "data 10.0 %, other host work 25.0 %");
  profile.is_on_device = true;
  CHECK(summarize_step(profile) ==
        "10 s: forward 25.0 %, backward_input 35.0 %, send 0.0 %, idle GPU 40.0 %; host: enqueuing "
        "50.0 %, exposed communication 15.0 %, waiting for data 10.0 %, other host work 25.0 %");
}
