// A kernel with each fault that the interpreter detects, and a similar one without the fault.
#include <catch2/catch.hpp>

#include "device/ptx/in_tests.hpp"

namespace dt::ptx {
namespace {

using Catch::Contains;

/// Sets %r0 to the shared address of this thread's word, %r1 to that of the next thread's.
const std::string own_word =
    "mov.u32 %r5, shared;\nshl.b32 %r6, %tid, 2;\nadd.s32 %r0, %r5, %r6;\nadd.s32 %r1, %r0, 4;\n";

TEST_CASE("ptx: an access outside of an allocation is found", "[ptx]") {
  CHECK(flaw_of("st.global.u32 [%mine], %tid;", threads(64), 64) == "");
  CHECK_THAT(flaw_of("st.global.u32 [%mine], %tid;", threads(65), 64),
             Contains("k: block 0,0,0 thread 64: line") && Contains("st.global.u32 [%mine], %tid") &&
                 Contains("do not lie in an allocation"));
  CHECK_THAT(flaw_of("ld.global.v2.u32 {%r0, %r1}, [%out+252];", threads(1), 64), Contains("aligned to 8"));
  CHECK_THAT(flaw_of("ld.global.u32 %r0, [%out+-4];", threads(1)), Contains("do not lie in an allocation"));
  CHECK_THAT(flaw_of(own_word + "st.shared.u32 [%r0+1020], %tid;", threads(2)),
             Contains("thread 1") && Contains("shared memory, which has 1024 bytes"));
  CHECK_THAT(flaw_of("ld.param.u64 %l0, [k_param_0+8];", threads(1)), Contains("parameters' memory"));
  CHECK_THAT(flaw_of("mov.u64 %l0, 16;\nld.u32 %r0, [%l0];", threads(1)), Contains("there is no allocation"));
}

TEST_CASE("ptx: an access that is not aligned is found", "[ptx]") {
  CHECK(flaw_of("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%out+16];", threads(1)) == "");
  CHECK_THAT(flaw_of("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%out+8];", threads(1)),
             Contains("is not aligned to 16 bytes"));
  CHECK_THAT(flaw_of(own_word + "st.shared.u32 [%r0+2], %tid;", threads(1)),
             Contains("is not aligned to 4 bytes"));
  CHECK_THAT(flaw_of(own_word + "add.s32 %r1, %r0, 4;\natom.shared.add.u64 %l0, [%r1], 1;", threads(1)),
             Contains("is not aligned to 8 bytes"));
}

TEST_CASE("ptx: a race in shared memory between warps is found", "[ptx]") {
  const std::string write = "st.shared.u32 [%r0], %tid;\n",
                    begin = own_word + write + "bar.sync 0;\n" + write,
                    read = "xor.b32 %r7, %r6, 128;\nadd.s32 %r8, %r5, %r7;\nld.shared.u32 %r2, [%r8];\n";
  CHECK(flaw_of(begin + "bar.sync 0;\n" + read, threads(64)) == "");
  CHECK_THAT(flaw_of(begin + read, threads(64)),
             Contains("a race for 4 bytes") && Contains("no barrier lies between"));
  // Reads, and a write that does not wait for them.
  const std::string reads = begin + "bar.sync 0;\n" + read;
  CHECK(flaw_of(reads + "bar.sync 0;\nst.shared.u32 [%r0], %r2;", threads(64)) == "");
  CHECK_THAT(flaw_of(reads + "st.shared.u32 [%r0], %r2;", threads(64)), Contains("a race for 4 bytes"));
  // Halves of a word are separate places.
  const std::string half =
      "mov.u32 %r5, shared;\nshl.b32 %r6, %tid, 1;\nadd.s32 %r0, %r5, %r6;\nmov.u16 %h0, 1;\nst.shared.u16 "
      "[%r0], %h0;";
  CHECK(flaw_of(half, threads(64)) == "");
  CHECK_THAT(flaw_of("mov.u32 %r0, shared;\nst.shared.u32 [%r0], %tid;", threads(64)),
             Contains("a race for 4 bytes"));
}

TEST_CASE("ptx: a race in shared memory between lanes is found", "[ptx]") {
  const std::string begin = own_word + "st.shared.u32 [%r0], %tid;\nst.shared.u32 [%r0+128], %tid;\n",
                    read = "ld.shared.u32 %r2, [%r1];\n";
  CHECK(flaw_of(begin + "bar.warp.sync -1;\n" + read, threads(32)) == "");
  CHECK_THAT(flaw_of(begin + read, threads(32)), Contains("no bar.warp.sync lies between"));
}

TEST_CASE("ptx: a race in global memory between blocks is found", "[ptx]") {
  CHECK_THAT(flaw_of("st.global.u32 [%mine], %tid;", threads(1, 2)), Contains("another block of the launch"));
  CHECK_THAT(flaw_of("ld.global.u32 %r0, [%out];\nmov.u32 %r1, %ctaid.x;\nsetp.eq.s32 %p0, %r1, 0;\n@%p0 "
                     "st.global.u32 [%out], %r0;",
                     threads(1, 2)),
             Contains("another block of the launch"));
  CHECK(flaw_of("ld.global.u32 %r0, [%out];", threads(32, 3)) == "");
  CHECK(flaw_of("atom.global.add.u32 %r0, [%out], 1;", threads(32, 3)) == "");
  CHECK_THAT(flaw_of("atom.global.add.u32 %r0, [%out], 1;\nld.global.u32 %r1, [%out];", threads(1, 2)),
             Contains("another block of the launch"));
}

TEST_CASE("ptx: shared memory that is read before it is written is found", "[ptx]") {
  CHECK_THAT(flaw_of(own_word + "ld.shared.u32 %r2, [%r0];", threads(1)),
             Contains("are read before the block writes them"));
  CHECK_THAT(flaw_of(own_word + "atom.shared.add.u32 %r2, [%r0], 1;", threads(1)),
             Contains("are read before the block writes them"));
  // Words that another block has written there are gone.
  CHECK_THAT(flaw_of(own_word + "mov.u32 %r2, %ctaid.x;\nsetp.eq.s32 %p0, %r2, 0;\n@%p0 st.shared.u32 [%r0], "
                                "%tid;\nld.shared.u32 %r3, [%r0];",
                     threads(1, 2)),
             Contains("block 1,0,0"));
}

TEST_CASE("ptx: a barrier in divergent code is found", "[ptx]") {
  const std::string some = "setp.lt.u32 %p0, %tid, 7;\n";
  CHECK_THAT(flaw_of(some + "@!%p0 bra L;\nbar.sync 0;\nL:", threads(32)),
             Contains("the barrier is divergent: lanes 0000007f of ffffffff"));
  CHECK(flaw_of(some + "@!%p0 bra L;\nadd.u32 %r0, %tid, 1;\nL:\nbar.sync 0;", threads(40)) == "");
  CHECK(flaw_of(some + "@%p0 ret;\nbar.sync 0;", threads(64)) == "");
  CHECK_THAT(
      flaw_of("setp.lt.u32 %p0, %tid, 32;\n@%p0 bra L;\nbar.sync 0;\nret;\nL:\nbar.sync 1;", threads(64)),
      Contains("warps wait at barriers"));
}

TEST_CASE("ptx: an exchange with a lane that is elsewhere is found", "[ptx]") {
  const std::string some = "setp.lt.u32 %p0, %tid, 16;\n",
                    exchange = "shfl.sync.bfly.b32 %r0|%p1, %tid, 1, 31, ";
  CHECK(flaw_of(exchange + "-1;", threads(32)) == "");
  CHECK(flaw_of(some + "@!%p0 bra L;\n" + exchange + "0xFFFF;\nL:", threads(32)) == "");
  CHECK_THAT(flaw_of(some + "@!%p0 bra L;\n" + exchange + "-1;\nL:", threads(32)),
             Contains("names lanes ffff0000, which are elsewhere"));
  CHECK_THAT(flaw_of(exchange + "1;", threads(32)), Contains("does not name the lane itself"));
  CHECK_THAT(flaw_of("shfl.sync.bfly.b32 %r0, %tid, 16, 31, -1;", threads(20)),
             Contains("takes a value of lane 20, which is not there"));
  CHECK_THAT(flaw_of(some + "@!%p0 bra L;\nbar.warp.sync -1;\nL:", threads(32)),
             Contains("which are elsewhere"));
}

TEST_CASE("ptx: what hardware refuses to launch is refused", "[ptx]") {
  CHECK_THAT(flaw_of("", threads(1025)), Contains("a block of 1025 threads"));
  CHECK_THAT(flaw_of("", threads(1, 0)), Contains("a grid of 0 × 1 × 1 blocks"));
  CHECK_THAT(flaw_of("", {.dynamic_bytes = 50000}), Contains("50000 bytes of shared memory"));
}

TEST_CASE("ptx: an instruction that is not known is named", "[ptx]") {
  CHECK_THAT(flaw_of("add.s32 %r0, %r1, 1;\nfoo.bar.s32 %r0, %r1;", threads(1)),
             Contains("not known: 'foo.bar.s32 %r0, %r1'"));
  CHECK_THAT(flaw_of("bra nowhere;", threads(1)), Contains("no such label: 'nowhere'"));
  CHECK_THAT(flaw_of("cvt.rm.bf16.f32 %h0, %f0;", threads(1)), Contains("not known"));
}

}  // namespace
}  // namespace dt::ptx
