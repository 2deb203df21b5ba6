#pragma once
// How dt makes NCCL's communicators, and what of it takes effect.

#include <string>

#include "comm/streams/ctas.hpp"

namespace dt::comm::nccl {

/// A version of NCCL, as ncclGetVersion says it, from which on a field of its configuration has an effect.
/// An older library takes a longer configuration, and ignores what it does not know without a word
/// (parseCommConfig in NCCL's src/init.cc).
struct ConfigField {
  const char* name;
  int since;
};
/// All that dt sets.
inline constexpr ConfigField config_fields[] = {
    {"blocking", 21400}, {"maxCTAs", 21700}, {"splitShare", 21800}};

/// The fields that a library of this version ignores: "maxCTAs"; empty: none.
std::string ignored_fields(int version);

/// What NCCL makes of a use's most CTAs, where NCCL_MAX_CTAS ("": unset) is that, as it has the last
/// word (envConfigOverride in NCCL's src/init.cc). 0: as NCCL likes.
int max_ctas(StreamUse use, const std::string& nccl_max_ctas);

/// What to tell of that: "pipeline channels take 2 CTAs, overlapped sums 16"; what does not take effect, too.
std::string limits(int version, const std::string& nccl_max_ctas);

}  // namespace dt::comm::nccl
