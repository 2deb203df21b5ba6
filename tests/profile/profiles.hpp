#pragma once
// A made-up step profile.

#include "profile/step_profile.hpp"

namespace dt_test {

using namespace dt;
using namespace dt::profile;
using parallel::ActionKind;

/// Returns the profile of a step of ten seconds: a second's wait for data, then actions, with times
/// that add up.
inline StepProfile small_profile() {
  StepProfile profile;
  profile.step = 10;
  profile.generation = 3;
  profile.rank = 7;
  profile.host = "n1";
  profile.role = "stage 1 of 2: layers.1 to head";
  profile.layout = "pp=2,dp=4,tp=1,zero=0";
  profile.clock = {.ahead_s = 50, .error_s = 2e-6, .zero_s = 1000};
  profile.step_time = {1000, 1010};
  profile.data_wait_s = 1;
  profile.unit_names = {"embedding", "layers.0", "head"};
  profile.actions = {
      {{ActionKind::forward, 1, 0}, {1001, 1004, 1}, {1002, 1004}},
      {{ActionKind::send, 1, 0, parallel::Payload::activation, 1}, {1004, 1005, 0.5}, {1004, 1004}},
      {{ActionKind::backward_input, 1, 0}, {1006, 1008, 0}, {1006, 1009.5}},
      {{ActionKind::forward, 2, 1}, {1008, 1008.5, 0}, {1009.5, 1010}},
  };
  profile.exposed_communication = {{1002, 1003}, {1004.25, 1004.75}, {1005, 1005 + 1e-7}};
  profile.groups = {{.name = "world", .members = {0, 1}}, {.name = "pair", .members = {5, 7}}};
  profile.operations = {
      {.sequence = 4,
       .group = 1,
       .kind = comm::OperationKind::send,
       .bytes = 64,
       .peer = 0,
       .started_s = 1004,
       .finished_s = 1007},
      {.sequence = 9,
       .group = 1,
       .kind = comm::OperationKind::all_reduce,
       .bytes = 4096,
       .started_s = 1003,
       .finished_s = 1005},
      {.sequence = 10,
       .group = 1,
       .kind = comm::OperationKind::all_reduce,
       .bytes = 8,
       .started_s = 1005,
       .finished_s = 1006},
  };
  return profile;
}

}  // namespace dt_test
