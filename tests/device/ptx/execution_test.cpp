#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/numeric/dtype.hpp"
#include "device/ptx/in_tests.hpp"

namespace dt::ptx {
namespace {

using Words = std::vector<std::uint32_t>;

/// Returns one thread's result, from an instruction that leaves it in %r0.
std::uint32_t word(const std::string& body) {
  return run_on(Words(1), body + "\nst.global.u32 [%out], %r0;", threads(1))[0];
}
float number(const std::string& body) {
  return run_on(std::vector<float>(1), body + "\nst.global.f32 [%out], %f0;", threads(1))[0];
}
std::string bits(float value) {
  return fmt::format("0f{:08X}", std::bit_cast<std::uint32_t>(value));
}

TEST_CASE("ptx: every thread of a grid runs once", "[ptx]") {
  const std::string body =
      "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmad.lo.s32 %r2, %r0, %r1, %tid;\nmul.wide.u32 %l0, "
      "%r2, 4;\n"
      "add.s64 %l1, %out, %l0;\nadd.s32 %r3, %r2, 1;\nst.global.u32 [%l1], %r3;";
  const Words out = run_on(Words(3 * 45), body, threads(45, 3));
  for (std::uint32_t i = 0; i < out.size(); ++i) CHECK(out[i] == i + 1);
}

TEST_CASE("ptx: lanes that a branch divides meet again", "[ptx]") {
  // Each lane counts to its own number, odd lanes by way of another branch; then all exchange.
  const std::string body =
      "mov.u32 %r0, 0;\nmov.u32 %r1, 0;\nLOOP:\nsetp.ge.u32 %p0, %r0, %tid;\n@%p0 bra DONE;\nand.b32 %r2, "
      "%r0, 1;\n"
      "setp.eq.s32 %p1, %r2, 0;\n@%p1 bra EVEN;\nadd.s32 %r1, %r1, 10;\nbra.uni NEXT;\nEVEN:\nadd.s32 %r1, "
      "%r1, 1;\nNEXT:\n"
      "add.s32 %r0, %r0, 1;\nbra.uni LOOP;\nDONE:\nshfl.sync.bfly.b32 %r3|%p2, %r1, 1, 31, "
      "-1;\nst.global.u32 [%mine], %r3;";
  const Words out = run_on(Words(32), body, threads(32));
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t other = lane ^ 1;
    CHECK(out[lane] == (other + 1) / 2 + other / 2 * 10);
  }
}

TEST_CASE("ptx: lanes that return leave the others", "[ptx]") {
  const std::string body =
      "setp.lt.u32 %p0, %tid, 5;\n@%p0 bra A;\nst.global.u32 [%mine], 1;\nret;\nA:\nst.global.u32 [%mine], "
      "2;\n"
      "setp.eq.s32 %p1, %tid, 3;\n@%p1 exit;\nst.global.u32 [%mine], 3;";
  CHECK(run_on(Words(7), body, threads(7)) == Words{3, 3, 3, 2, 3, 1, 1});
}

TEST_CASE("ptx: a block's warps meet at barriers", "[ptx]") {
  // Each thread reads what the thread opposite has written.
  const std::string body =
      "mov.u32 %r0, shared;\nshl.b32 %r1, %tid, 2;\nadd.s32 %r2, %r0, %r1;\nst.shared.u32 [%r2], "
      "%tid;\nbar.sync 0;\n"
      "mov.u32 %r3, 396;\nsub.s32 %r4, %r3, %r1;\nadd.s32 %r5, %r0, %r4;\nld.shared.u32 %r6, "
      "[%r5];\nst.global.u32 [%mine], %r6;";
  const Words out = run_on(Words(100), body, threads(100));
  for (std::uint32_t i = 0; i < out.size(); ++i) CHECK(out[i] == 99 - i);
}

TEST_CASE("ptx: atomics add up", "[ptx]") {
  const std::string body =
      "mov.u32 %r0, shared;\nsetp.ne.s32 %p0, %tid, 0;\n@%p0 bra L;\nmov.u64 %l0, 0;\nst.shared.u64 [%r0], "
      "%l0;\nL:\nbar.sync 0;\n"
      "cvt.u64.u32 %l1, %tid;\natom.shared.add.u64 %l2, [%r0], %l1;\nbar.sync 0;\n@%p0 ret;\nld.shared.u64 "
      "%l3, [%r0];\n"
      "red.global.add.u64 [%out], %l3;";
  CHECK(run_on(std::vector<std::uint64_t>(1), body, threads(70, 4))[0] == 4 * 69 * 70 / 2);
}

TEST_CASE("ptx: lanes exchange what they have", "[ptx]") {
  const auto shuffled = [](const std::string& what) {
    return run_on(Words(32), "shfl.sync." + what + ";\nst.global.u32 [%mine], %r0;", threads(32));
  };
  CHECK(shuffled("down.b32 %r0|%p0, %tid, 3, 31, -1")[28] == 31);
  CHECK(shuffled("down.b32 %r0|%p0, %tid, 3, 31, -1")[29] == 29);
  CHECK(shuffled("up.b32 %r0|%p0, %tid, 3, 0, -1")[3] == 0);
  CHECK(shuffled("up.b32 %r0|%p0, %tid, 3, 0, -1")[2] == 2);
  CHECK(shuffled("idx.b32 %r0|%p0, %tid, 7, 31, -1")[20] == 7);
  CHECK(shuffled("bfly.b32 %r0|%p0, %tid, 5, 31, -1")[20] == 17);
  CHECK(shuffled("idx.b32 %r0|%p0, %tid, 1, 0x181F, -1")[20] == 17);  // segments of 8
  CHECK(run_on(Words(32),
               "setp.lt.u32 %p0, %tid, 3;\nvote.sync.ballot.b32 %r0, %p0, -1;\nst.global.u32 [%mine], %r0;",
               threads(32))[9] == 7);
  CHECK(run_on(Words(32), "redux.sync.add.s32 %r0, %tid, -1;\nst.global.u32 [%mine], %r0;", threads(32))[9] ==
        496);
}

TEST_CASE("ptx: integers are computed as hardware does", "[ptx]") {
  CHECK(word("add.s32 %r0, 2147483647, 1;") == 0x80000000);
  CHECK(word("mov.u32 %r1, 40;\nshl.b32 %r0, 1, %r1;") == 0);
  CHECK(word("shr.s32 %r0, -8, 40;") == 0xFFFFFFFF);
  CHECK(word("mul.hi.u32 %r0, -1, -1;") == 0xFFFFFFFE);
  CHECK(word("div.s32 %r0, -7, 2;") == static_cast<std::uint32_t>(-3));
  CHECK(word("rem.s32 %r0, -7, 2;") == static_cast<std::uint32_t>(-1));
  CHECK(word("mov.u32 %r1, 0x11223344;\nprmt.b32 %r0, %r1, 0xAABBCCDD, 0x7610;") == 0xAABB3344);
  CHECK(word("prmt.b32 %r0, 0x80, 0, 0x1118;") == 0x000000FF);
  CHECK(word("bfe.u32 %r0, 0x12345678, 8, 12;") == 0x456);
  CHECK(word("bfe.s32 %r0, 0x0000F000, 8, 8;") == 0xFFFFFFF0);
  CHECK(word("lop3.b32 %r0, 12, 10, 6, 0x96;") == (12U ^ 10U ^ 6U));
  CHECK(word("shf.l.wrap.b32 %r0, 0x80000000, 1, 1;") == 3);
  CHECK(word("clz.b32 %r0, 255;") == 24);
  CHECK(word("mov.b64 %l0, {1, 2};\nmov.b64 {_, %r0}, %l0;") == 2);
  CHECK(word("setp.lt.s32 %p0, -1, 1;\nselp.b32 %r0, 5, 6, %p0;") == 5);
  CHECK(word("setp.lt.u32 %p0, -1, 1;\nselp.b32 %r0, 5, 6, %p0;") == 6);
  CHECK(word("mov.pred %p0, -1;\nmov.pred %p1, %p0;\nselp.b32 %r0, 5, 6, %p1;") == 5);
  CHECK(word("mov.u32 %r1, 0xFFFF0080;\ncvt.s32.s8 %r0, %r1;") == 0xFFFFFF80);
  CHECK(word("cvt.sat.u8.s32 %r0, 300;") == 255);
}

TEST_CASE("ptx: floats are rounded as their instructions say", "[ptx]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(number("fma.rn.f32 %f0, " + bits(3) + ", " + bits(5) + ", " + bits(0.5F) + ";") == 15.5F);
  const std::string inexact = bits(1) + ", " + bits(1) + ", " + bits(-0x1p-30F) + ";";
  CHECK(number("fma.rn.f32 %f0, " + inexact) == 1);
  CHECK(number("fma.rm.f32 %f0, " + inexact) == std::nextafter(1.0F, 0.0F));
  CHECK(number("max.f32 %f0, " + bits(nan) + ", " + bits(2) + ";") == 2);
  CHECK(std::signbit(number("min.f32 %f0, 0f00000000, 0f80000000;")));
  CHECK(number("cvt.rzi.f32.f32 %f0, " + bits(-2.7F) + ";") == -2);
  CHECK(number("cvt.rni.f32.f32 %f0, " + bits(2.5F) + ";") == 2);
  CHECK(number("cvt.sat.f32.f32 %f0, " + bits(nan) + ";") == 0);
  CHECK(number("cvt.rn.f32.s32 %f0, -3;") == -3);
  CHECK(word("cvt.rzi.s32.f32 %r0, " + bits(-1e20F) + ";") == 0x80000000);
  CHECK(word("cvt.rni.u32.f32 %r0, " + bits(-3) + ";") == 0);
  CHECK(word("setp.lt.f32 %p0, " + bits(nan) + ", 0f00000000;\nselp.b32 %r0, 1, 0, %p0;") == 0);
  CHECK(word("setp.geu.f32 %p0, " + bits(nan) + ", 0f00000000;\nselp.b32 %r0, 1, 0, %p0;") == 1);
  CHECK(word("setp.ne.f32 %p0, " + bits(nan) + ", 0f00000000;\nselp.b32 %r0, 1, 0, %p0;") == 0);
  CHECK(run_on(std::vector<float>(1),
               "mov.f64 %d0, 0d3FF0000000000001;\ncvt.rp.f32.f64 %f0, %d0;\nst.global.f32 [%out], %f0;",
               threads(1))[0] == std::nextafter(1.0F, 2.0F));
}

TEST_CASE("ptx: 16-bit floats are rounded once", "[ptx]") {
  for (const float value :
       {1.0F, 1.00390625F, 1.01171875F, -3.14159F, 1e-40F, 3.4e38F, 65519.0F, 65520.0F, 6e-8F}) {
    INFO(value);
    CHECK(word("cvt.rn.bf16.f32 %h0, " + bits(value) + ";\ncvt.u32.u16 %r0, %h0;") == BFloat16(value).bits);
    CHECK(word("cvt.rn.f16.f32 %h0, " + bits(value) + ";\ncvt.u32.u16 %r0, %h0;") == Float16(value).bits);
    CHECK(word("cvt.rn.bf16x2.f32 %r0, " + bits(value) + ", 0f3F800000;") ==
          (std::uint32_t{BFloat16(value).bits} << 16 | 0x3F80));
  }
  CHECK(word("fma.rn.bf16x2 %r0, 0x40003F80, 0x40403F80, 0x3F803F80;") == 0x40E04000);  // 2·3+1, 1·1+1
  CHECK(word("add.f16x2 %r0, 0x3C004000, 0x3C003C00;") == 0x40004200);
  CHECK(number("cvt.f32.bf16 %f0, 0xC040;") == -3);
}

TEST_CASE("ptx: functions are as near as is documented", "[ptx]") {
  for (const float x : {-20.5F, -1.0F, -0.3F, 0.7F, 1.0F, 3.25F, 50.0F}) {
    INFO(x);
    const auto of = [&](const std::string& name) {
      return static_cast<double>(number(name + " %f0, " + bits(x) + ";"));
    };
    const auto wide = static_cast<double>(x);
    CHECK(std::abs(of("ex2.approx.ftz.f32") / std::exp2(wide) - 1) <= 0x1p-22);
    CHECK(std::abs(of("tanh.approx.f32") - std::tanh(wide)) <= std::abs(std::tanh(wide)) * 0x1p-11);
    CHECK(std::abs(of("rcp.approx.ftz.f32") * wide - 1) <= 0x1p-23);
    if (x <= 0) continue;
    CHECK(std::abs(of("lg2.approx.f32") - std::log2(wide)) <=
          0x1p-22 * std::max(1.0, std::abs(std::log2(wide))));
    CHECK(std::abs(of("rsqrt.approx.f32") * std::sqrt(wide) - 1) <= std::exp2(-22.9));
  }
  const auto ratio = [](float a, float b) {
    return number("div.approx.f32 %f0, " + bits(a) + ", " + bits(b) + ";");
  };
  CHECK(std::abs(ratio(3, 7) * 7.0 / 3 - 1) <= 0x1p-22);
  CHECK(ratio(1, 0x1p127F) == 0);  // follows hardware
  CHECK(std::isnan(ratio(std::numeric_limits<float>::quiet_NaN(), 0x1p127F)));
  CHECK(number("ex2.approx.f32 %f0, 0f00000000;") == 1);
  CHECK(number("ex2.approx.f32 %f0, 0fFF800000;") == 0);
  CHECK(std::isinf(number("rcp.approx.ftz.f32 %f0, 0f00000001;")));
  CHECK(std::isnan(number("lg2.approx.f32 %f0, 0fBF800000;")));
}

TEST_CASE("ptx: memory is loaded and stored in vectors, halves and bytes", "[ptx]") {
  const Words out = run_on(Words{1, 2, 3, 4, 0x8081, 0, 0, 0, 0, 0, 0, 0},
                           "prefetch.global.L2 [%out];\nld.global.nc.v4.u32 {%r0, %r1, %r2, %r3}, "
                           "[%out];\nst.global.v4.u32 [%out+32], {%r3, %r2, %r1, %r0};\n"
                           "ld.global.s8 %r4, [%out+16];\nst.global.u32 [%out+20], %r4;\nld.global.u16 %h0, "
                           "[%out+16];\nst.global.u16 [%out+26], %h0;",
                           threads(1));
  CHECK(out == Words{1, 2, 3, 4, 0x8081, 0xFFFFFF81, 0x80810000, 0, 4, 3, 2, 1});
}

TEST_CASE("ptx: local and static shared memory, and generic addresses", "[ptx]") {
  const std::string body =
      ".local .align 4 .b8 depot[8];\n.shared .align 4 .b8 table[256];\nmov.u64 %l0, depot;\ncvta.local.u64 "
      "%l1, %l0;\nst.u32 [%l1+4], %tid;\n"
      "mov.u32 %r0, table;\nshl.b32 %r1, %tid, 2;\nadd.s32 %r2, %r0, %r1;\ncvt.u64.u32 %l2, "
      "%r2;\ncvta.shared.u64 %l3, %l2;\nst.u32 [%l3], %tid;\n"
      "ld.local.u32 %r3, [%l0+4];\nld.shared.u32 %r4, [%r2];\nadd.s32 %r5, %r3, %r4;\nst.u32 [%mine], %r5;";
  const Words out = run_on(Words(40), body, threads(40));
  for (std::uint32_t i = 0; i < out.size(); ++i) CHECK(out[i] == 2 * i);
}

}  // namespace
}  // namespace dt::ptx
