#include "parallel/groups.hpp"

#include "base/error.hpp"

namespace dt::parallel {

Groups::Groups(const model::Layout& layout, comm::Communicator& world) : control_(&world), data_(&world) {
  DT_CHECK(world.size() == layout.size(), "{} ranks for a layout of {}", world.size(), layout.size());
  const model::Place place = layout.place_of(world.rank());
  if (layout.dp < layout.size()) data_ = make(world, place.pp * layout.tp + place.tp, "data");
  if (layout.zero == 0) {
    replicas_ = data_;
  } else if (layout.group_size() == layout.dp) {
    shards_ = data_;
  } else {
    shards_ = make(*data_, place.dp / layout.group_size(), "shards");
    replicas_ = make(*data_, place.dp % layout.group_size(), "replicas");
  }
}

/// The ranks of `from` that name one colour, in their order there.
comm::Communicator* Groups::make(comm::Communicator& from, int color, const char* name) {
  made_.push_back(from.split(color, from.rank(), name));
  return made_.back().get();
}

void Groups::poll() const {
  if (control_) control_->engine().progress();
}

}  // namespace dt::parallel
