#include "profile/step_profile.hpp"

namespace dt::profile {

std::string action_label(const StepProfile& profile, const parallel::Action& action) {
  std::string name = action_name(action.kind);
  if (action.payload != parallel::Payload::none) name += std::string(" ") + payload_name(action.payload);
  if (action.unit >= 0) name += " " + profile.unit_names.at(static_cast<std::size_t>(action.unit));
  return name;
}

}  // namespace dt::profile
