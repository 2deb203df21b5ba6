#pragma once
// NCCL as the program's library of device transports, with the settings that it reports.

#include <string>

#include "comm/device_collectives/device_transport.hpp"

namespace dt::comm::nccl {

/// A field of the configuration of NCCL's communicators, and the version of NCCL (as ncclGetVersion says it)
/// from which on the field has an effect. An older library accepts a longer configuration, and silently
/// ignores fields that it does not know.
/// Source: parseCommConfig in NCCL's src/init.cc.
struct ConfigField {
  const char* name;
  int since;
};
/// All fields that dt sets.
inline constexpr ConfigField config_fields[] = {
    {"blocking", 21400}, {"maxCTAs", 21700}, {"splitShare", 21800}};

/// Returns the fields that a library of this version ignores: "maxCTAs"; empty: none.
std::string ignored_fields(int version);

/// Returns the CTAs to which NCCL limits a communicator of that use; 0: NCCL chooses.
/// `nccl_max_ctas` is the value of NCCL_MAX_CTAS ("": unset), which takes precedence.
/// Source: envConfigOverride in NCCL's src/init.cc.
int max_ctas(DeviceGroupUse use, const std::string& nccl_max_ctas);

/// Returns a text for people: "pipeline channels take 2 CTAs, overlapped sums 16", or the settings
/// that do not take effect.
std::string limits(int version, const std::string& nccl_max_ctas);

/// Makes NCCL the program's library of device transports. NCCL is loaded when it is first asked for.
void register_nccl();

}  // namespace dt::comm::nccl
