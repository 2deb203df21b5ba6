// The last rank to finish a step wakes the others, and it alone.

#include "comm/node/node_window.hpp"

#include <catch2/catch.hpp>

using namespace dt::comm;

TEST_CASE("the last rank to finish a step of a segment wakes the others, once") {
  int wakes_of_first = 0, wakes_of_second = 0;
  NodeWindow first(0, 2, [&] { ++wakes_of_first; }), second(1, 2, [&] { ++wakes_of_second; });
  const NodeWindow::Offer offer = first.make();
  REQUIRE(second.accept(offer));
  first.close_offer();

  using Step = NodeWindow::Step;
  first.finish(Step::copy, 0);
  CHECK((wakes_of_first == 0 && wakes_of_second == 0));
  CHECK_FALSE(first.may_begin(Step::reduce, 0));
  second.finish(Step::copy, 0);
  CHECK((wakes_of_first == 0 && wakes_of_second == 1));
  CHECK(first.may_begin(Step::reduce, 0));

  // A rank that leaves a segment early has finished all of its steps for the other.
  second.leave(0);
  second.finish(Step::reduce, 0);
  CHECK((wakes_of_first == 0 && wakes_of_second == 1));
  first.finish(Step::reduce, 0);
  CHECK((wakes_of_first == 1 && wakes_of_second == 1));
  CHECK(second.may_begin(Step::gather, 0));
  first.finish(Step::gather, 0);
  second.finish(Step::gather, 0);
  CHECK((wakes_of_first == 2 && wakes_of_second == 1));

  // Segments in other slots are apart.
  second.finish(Step::copy, 1);
  CHECK((wakes_of_first == 2 && wakes_of_second == 1));
}
