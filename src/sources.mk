# sources.mk: which files are left out and which have flags of their own. The Makefile includes this file; CMakeLists.txt and
# tools/amalgamate.py read it. So each line is NAME := WORDS, without functions of make and without line ends between.

# Folders of the library, as patterns.
LIB_PATTERNS := src/*.c src/host/*.c src/loader/*.c src/rewrite/*.c src/frame/*.c src/plan/*.c src/runtime/*.c src/pass/*.c src/iterate/*.c src/ops/*.c src/ops/*/*.c src/loops/*.c src/loops/*/*.c
TOOL_PATTERNS := tools/*.c tools/host/*.c

# Files of src/loops that are the same for all builds of the loops, and those that DOT rows of builds.h build again.
LOOPS_ONCE := gemm/gemm_pack isa lane_math
LOOPS_DOT := gemm/gemm_int8 gemm/block_loops gemm/block_tiles window/depth_loops

# Rooms that are compiled for loops, and with OX_VARIANTS where there are several builds; those below the loader only the latter.
LOOP_ROOMS := loops iterate pass ops
VARIANT_ROOMS := frame plan runtime
LOOP_FLAGS := -fno-math-errno -fno-trapping-math -ffp-contract=off -Wno-pass-failed
# gcc's -O2 leaves loops alone that -O3 vectorises; these flags give the same speed at half the size of -O3.
VECTOR_FLAGS := -ftree-vectorize -fvect-cost-model=dynamic -fno-thread-jumps

# Files of src/loops. No compiler's choice here: the sums of products are fused wherever the processor can.
FUSED := gemm/gemm_kernel gemm/block_loops gemm/block_tiles window/beside_loops window/conv_loops window/winograd_loops
FUSED_FLAGS := -ffp-contract=fast
# What waits for memory is fast in halves of the widest registers, what computes in whole ones.
WIDE := lanes/lanes_chain lanes/lanes_divide lanes/lanes_math lanes/lanes_order lanes/lanes_pow lanes/lanes_tiles cell_loops reduce_loops softmax_loops gemm/gemm_kernel gemm/block_loops gemm/block_tiles byte_loops integer_loops window/beside_loops window/depth_loops
# A vector of arithmetic is one instruction between two loads and a store: what counts the elements is half of the work.
# Not in the base build.
UNROLLED := lanes/lanes lanes/lanes_tiles
UNROLL_FLAGS := -funroll-loops --param max-unroll-times=4
# Compilers must unroll these loops, or what they compute would not stay in registers. Links of chains work on four vectors at
# a time: their instructions are best mixed before registers are given out.
CHAINED := lanes/lanes_chain
CHAIN_FLAGS := -O3
SCHEDULE_FLAGS := -fschedule-insns -fsched-pressure
# Files of src/ops.
TREES := ml/tree_walk
TREE_FLAGS := -O3

# What plug-ins need, by the names of pkg-config.
IMAGE_LIBS := libpng libturbojpeg libtiff-4 libwebp libopenjp2
REGEX_LIBS := re2
