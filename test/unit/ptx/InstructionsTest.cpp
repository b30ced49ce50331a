// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of instructions, and what LLVM writes for MLIR's nvvm operations.
#include "test/gpu/interpreter/Instructions.h"
#include "test/unit/ptx/KernelText.h"
#include <set>

using namespace attn::ptx;
using namespace attn::ptx::test;

TEST(Instructions, each_has_a_section_and_one_row) {
  std::set<std::string> names;
  for (const Supported &row : supportedInstructions()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(std::string(row.section).rfind("9.7.", 0), 0u) << row.name;
    EXPECT_NE(row.decoder, nullptr) << row.name;
  }
}

/// The operations that kernels of the compiler are made of, as llc 22 writes them for sm_90a.
TEST(Instructions, of_the_nvvm_dialect_are_known) {
  std::string text = R"(
.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0,
	.param .align 64 .b8 k_param_1[128],
	.param .u32 k_param_2
)
.maxntid 384
.minnctapersm 1
{
	.reg .pred 	%p<2>;
	.reg .b16 	%rs<2>;
	.reg .b32 	%r<13>;
	.reg .b64 	%rd<7>;

// %bb.0:
	ld.param.b64 	%rd1, [k_param_0];
	mov.b64 	%rd2, k_param_1;
	cvta.param.u64 	%rd3, %rd2;
	ld.param.b32 	%r2, [k_param_2];
	mov.b32 	%r3, 1;
	mbarrier.init.shared.b64 	[smem], %r3;
	mov.b64 	%rd4, smem;
	fence.mbarrier_init.release.cluster;
	fence.proxy.async.shared::cta;
	elect.sync 	%r4|%p1, -1;
	mov.b32 	%r5, 128;
	mbarrier.arrive.expect_tx.shared.b64 %rd5, [smem], %r5;
	cvt.u32.u64 	%r1, %rd4;
	// begin inline asm
	{
	.reg .pred       P1; 
	LAB_WAIT: 
	mbarrier.try_wait.parity.shared.b64 P1, [%r1], 0, 128; 
	@P1 bra.uni DONE; 
	bra.uni     LAB_WAIT; 
	DONE: 
	}
	// end inline asm
	mov.b64 	%rd6, 0;
	mov.b32 	%r6, 0;
	cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [smem], [%rd3, {%r2, %r6}], [smem];
	bar.sync 	1, 128;
	setmaxnreg.inc.sync.aligned.u32 	240;
	wgmma.fence.sync.aligned;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 	0;
	cvt.rn.f32.s32 	%r7, %r2;
	shfl.sync.bfly.b32 	%r8, %r7, 1, 128, 0;
	cvt.rn.bf16.f32 	%rs1, %r8;
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r9, %r10, %r11, %r12}, [smem];
	stmatrix.sync.aligned.m8n8.x4.shared.b16 [smem], {%r9, %r9, %r9, %r9};
	cp.async.cg.shared.global [smem], [%rd1], 16;
	cp.async.commit_group;
	cp.async.wait_group 	0;
	cp.async.bulk.commit_group;
	cp.async.bulk.wait_group.read 	0;
	st.global.b16 	[%rd1], %rs1;
	ret;
                                        // -- End function
}
)";
  Module module = Module::parse(text);
  EXPECT_TRUE(module.errors.empty()) << module.errors[0];
}
