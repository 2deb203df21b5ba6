#include "parallel/groups.hpp"

#include "base/error.hpp"

namespace dt::parallel {

Groups::Groups(const Mesh& mesh, comm::Communicator& world) : control_(&world), data_(&world) {
  DT_CHECK(world.size() == mesh.size(), "{} ranks for a mesh of {}", world.size(), mesh.size());
  const MeshPlace place = mesh.place_of(world.rank());
  if (mesh.dp < mesh.size()) data_ = make(world, place.pp * mesh.tp + place.tp, "data");
  if (mesh.zero == 0) {
    replicas_ = data_;
  } else if (mesh.group_size() == mesh.dp) {
    shards_ = data_;
  } else {
    shards_ = make(*data_, place.dp / mesh.group_size(), "shards");
    replicas_ = make(*data_, place.dp % mesh.group_size(), "replicas");
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
