#include "profile/trace_file.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profile/profiles.hpp"

using namespace dt_test;

namespace {

using Json = nlohmann::json;

struct Drawn {
  std::map<int, std::string> rows;
  std::map<std::string, std::vector<Json>> events;  // by the row's name
};

Drawn drawn(const StepProfile& profile) {
  Drawn result;
  const Json file = Json::parse(to_json(profile));
  for (const Json& event : file.at("traceEvents")) {
    CHECK(event.at("pid").get<int>() == profile.rank);
    if (event.at("name") == "thread_name")
      result.rows[event.at("tid").get<int>()] = event.at("args").at("name").get<std::string>();
    if (event.at("ph") == "X") result.events[result.rows.at(event.at("tid").get<int>())].push_back(event);
  }
  return result;
}

std::vector<std::string> names_of(const std::vector<Json>& events) {
  std::vector<std::string> names;
  for (const Json& event : events) names.push_back(event.at("name").get<std::string>());
  return names;
}

double end_of(const Json& event) {
  return event.at("ts").get<double>() + event.at("dur").get<double>();
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a trace's rows are the step, computing, waiting and groups that did something") {
  const Drawn trace = drawn(small_profile());
  Names rows;
  for (const auto& [number, name] : trace.rows) rows.push_back(name);
  CHECK(rows == Names{"step", "computing", "waiting", "group pair", "group pair 2"});
  CHECK(names_of(trace.events.at("step")) == Names{"step 10"});
  CHECK(names_of(trace.events.at("computing")) ==
        Names{"forward layers.0", "send activation layers.0", "backward_input layers.0", "forward head"});
  CHECK(names_of(trace.events.at("waiting")) == Names{"data", "communication", "communication"});
}

TEST_CASE("of a device there are a row of what the host enqueues and one of what is computed") {
  StepProfile profile = small_profile();
  profile.is_on_device = true;
  profile.device_error_s = 3e-6;
  const Drawn trace = drawn(profile);
  REQUIRE(trace.events.at("enqueuing").size() == profile.actions.size());
  REQUIRE(trace.events.at("computing").size() == profile.actions.size());
  CHECK(trace.events.at("enqueuing")[0].at("ts").get<double>() == 1e6);
  CHECK(trace.events.at("computing")[0].at("ts").get<double>() == 2e6);
  CHECK(Json::parse(to_json(profile)).at("otherData").at("device_clock_error_us").get<double>() == Approx(3));
}

TEST_CASE("times are microseconds since the moment that ranks have in common") {
  const Drawn trace = drawn(small_profile());
  const Json& forward = trace.events.at("computing")[0];
  CHECK(forward.at("ts").get<double>() == 1e6);
  CHECK(forward.at("dur").get<double>() == 3e6);
  CHECK(forward.at("cat") == "forward");
  CHECK(forward.at("args") == Json({{"unit", 1}, {"micro_batch", 0}}));
  CHECK(trace.events.at("computing")[1].at("args").at("stage_rank").get<int>() == 1);
}

TEST_CASE("operations that go on at once lie in rows of their own") {
  const Drawn trace = drawn(small_profile());
  CHECK(names_of(trace.events.at("group pair")) == Names{"all_reduce", "all_reduce"});
  CHECK(names_of(trace.events.at("group pair 2")) == Names{"send"});
  CHECK(trace.events.at("group pair 2")[0].at("args") == Json({{"bytes", 64}, {"sequence", 4}, {"peer", 5}}));
}

TEST_CASE("no event of a row begins before the one before it has ended, however they are rounded") {
  StepProfile profile = small_profile();
  profile.actions.clear();
  for (double time_s = 1000.1; profile.actions.size() < 1000;) {
    const double until_s = time_s + 1.2345e-6;
    profile.actions.push_back({{ActionKind::forward, 1, 0}, {time_s, until_s, 0}});
    time_s = until_s;
  }
  double before_us = 0;
  const Drawn trace = drawn(profile);
  for (const Json& event : trace.events.at("computing")) {
    CHECK(event.at("ts").get<double>() >= before_us - 1e-4);  // times are in µs; a nanosecond is 1e-3
    before_us = end_of(event);
  }
}

TEST_CASE("a trace says what it is, and whose") {
  const StepProfile profile = small_profile();
  const Json file = Json::parse(to_json(profile));
  CHECK(file.at("format") == "dt-profile");
  CHECK(file.at("version").get<int>() == 1);
  CHECK(file.at("otherData").at("layout") == "pp=2,dp=4,tp=1,zero=0");
  CHECK(file.at("otherData").at("clock_error_us").get<double>() == Approx(2));
  CHECK(file.at("traceEvents")[0].at("args").at("name") == "rank 7 on n1, stage 1 of 2: layers.1 to head");
  CHECK(trace_file_name(profile) == "step-00000010.g3.rank-00007.json");
}
