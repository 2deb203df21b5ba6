#include "comm/node/shared_memory.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt::comm;

TEST_CASE("a process that accepts an offer sees what others write") {
  SharedMemory first(100'000), second(100'000);
  const SharedMemory::Offer offer = first.make();
  REQUIRE(second.accept(offer));
  first.close_offer();
  CHECK(std::all_of(second.data(), second.data() + second.bytes(),
                    [](std::byte b) { return b == std::byte{}; }));
  first.data()[99'999] = std::byte{7};
  CHECK(second.data()[99'999] == std::byte{7});
}

TEST_CASE("objects of one process share one mapping, which ends with the last of them") {
  SharedMemory accepting(5000);
  std::byte* shared = nullptr;
  {
    SharedMemory making(5000);
    REQUIRE(accepting.accept(making.make()));
    shared = making.data();
    shared[4999] = std::byte{3};
  }
  CHECK(accepting.data() == shared);
  CHECK(accepting.data()[4999] == std::byte{3});
}

TEST_CASE("another process may accept, and what it wrote outlives it") {
  SharedMemory own(64);
  const SharedMemory::Offer offer = own.make();
  const pid_t child = ::fork();
  if (child == 0) {
    SharedMemory its(64);
    if (!its.accept(offer)) ::_exit(1);
    its.data()[0] = std::byte{9};
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(own.data()[0] == std::byte{9});
}

TEST_CASE("an offer that is closed, of another size or not this memory's is refused") {
  SharedMemory made(4096), larger(8192), same(4096);
  SharedMemory::Offer offer = made.make();
  CHECK_FALSE(larger.accept(offer));
  CHECK_FALSE(same.accept({}));
  ++offer.token[1];
  CHECK_FALSE(same.accept(offer));
  --offer.token[1];
  made.close_offer();
  CHECK_FALSE(same.accept(offer));
}
