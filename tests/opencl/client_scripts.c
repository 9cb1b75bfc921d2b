/* SPDX-License-Identifier: MIT */
/*
 * client_scripts: scenarios as words (client_script.c), in their order, with " | " between two. $1 stands for
 * the scenario's first argument, ${1:word} for that or else the word; what follows ?1 or !1 happens where it
 * is given or not.
 */
#include "tests/opencl/client.h"

#define VALUE_5 "kernel void value(global int *out) { out[0] = 5; }\n"
#define FAILING "#error not today\nkernel void none(global int *out) { }\n"
#define TENFOLD(text) text text text text text text text text text text
#define LONG_NAME TENFOLD("name_of_a_kernel_that_is_made_of_its_types")
#define TOKEN "#error not today\n\n__constant int pyopencl_defeat_cache_"
#define REBUILT(options) "build a " options " | status a | kernel k a scale | show k | drop k | "
#define FAILS "source a = " FAILING " | build a -DA=1 | status a | print a | try a none | release a"
#define FAILED(source, options) "source a = " source " | build a " options " | status a | release a"
#define SCRIPT(name, words) { name, client_run_script, true, words, NULL }

static struct scenario scenarios[] = {
	/* One program with three kernels; $1: -DK=n. */
	SCRIPT("vector", "source a | build a ${1:-DK=5} | scaled a 3 | release a"),
	/* $1: compiled and linked, not built. */
	SCRIPT("queries", "!1 source a | !1 build a -DK=3 -cl-kernel-arg-info | ?1 source o | "
	       "?1 compile o -DK=3 -cl-kernel-arg-info | ?1 link a o | ?1 release o | print a | "
	       "status a | kernels a | references a | release a"),
	SCRIPT("failing", "source a = " FAILING " | build a -DK=1 | status a | try a none | "
	       "build a -DK=2 | references a | release a"),
	/* A kernel runs only after the last build: rusticl's queue holds one for a while after it ran. */
	SCRIPT("rebuild", "source a | " REBUILT("-DK=10") REBUILT("-DK=20") REBUILT("-DK=10")
	       REBUILT("-DK=30 -DL") "references a | scaled a 2 | release a"),
	SCRIPT("live-kernels", "source a | build a -DK=7 | kernel k a scale | build a -DK=8 | "
	       "status a | show k | keep k | drop k | build a -DK=7 | drop k | build a -DK=9 | "
	       "scaled a 2 | release a"),
	SCRIPT("same-kernels", "source a | build a -DK=7 | kernel k a scale | kernel l a scale | kernel m a scale | "
	       "kernel n a scale | references a | drop k | drop l | drop m | drop n | references a | release a"),
	/* On a driver with clCloneKernel. */
	SCRIPT("live-clone", "source a | build a -DK=7 | kernel k a scale | clone l k | show l | drop k | "
	       "build a -DK=7 | drop l | build a -DK=9 | scaled a 2 | release a"),
	/*
	 * Two programs of one source with options that differ, alive at the same time, then a third like
	 * the first.
	 */
	SCRIPT("two-options", "source a | build a -DK=100 | kernel a a scale | source b | "
	       "build b -DK=200 | kernel b b scale | source c | build c -DK=100 | kernel c c scale | "
	       "run a 2 | run b 2 | run c 2 | status a | drop a | release a | status b | drop b | "
	       "release b | status c | drop c | release c"),
	/* As an application with a cache of its own does: binary out, program from the binary. */
	SCRIPT("binary", "source a | build a -DK=5 | devices 0 | load b a | build b \"\" | scaled b 6 | "
	       "release b a"),
	SCRIPT("link", "source a = int add(int a) { return a + K; }\n | source b = int add(int a);\n"
	       "kernel void scale(global const int *in, global int *out, int f)\n"
	       "{ size_t i = get_global_id(0); out[i] = add(in[i]) * f; }\n | compile a -DK=4 | "
	       "status a | compile b -DK=4 | status b | link c a,b \"\" | needs c | scaled c 2 | "
	       "release c a b"),
	/* Parts of "variables". */
	SCRIPT("build", "source a | build a -DK=5 | status a | release a"),
	SCRIPT("refused-release", "source a | build a -DK=5 | retain a | retain a | release a | release a | release a | "
	       "scaled a 2 | release a"),
	SCRIPT("object", "source o | compile o -DK=5"),
	SCRIPT("object-again", "link b o \"\" | release b"),
	SCRIPT("image", "source i | build i -DK=5"),
	SCRIPT("image-again", "devices 0 | load j i | build j -DK=5 | release j i"),
	SCRIPT("one-device", "source a | devices ${1:0} | build a -DK=6 | status a | scaled a 2 | release a"),
	/* $1: compiled, not built. */
	SCRIPT("no-kernels", "source a = int helper(int a) { return a + K; }\n | ?1 compile a -DK=3 | "
	       "?1 print a | !1 build a -DK=3 | status a | !1 kernels a | !1 try a helper | release a"),
	/* A program that includes value.h of $1, and one that does not. $2: its options, if the source names $1. */
	SCRIPT("named", "!2 before a #include \"value.h\" | !2 build a -DK=1 -I $1 | "
	       "?2 before a #include \"$1/value.h\" | ?2 build a -DK=1 | source b | "
	       "build b ${2:-DK=2} | release a b"),
	SCRIPT("compile-built", "source a | build a -DK=5 | scaled a 2 | compile a -DK=6 | status a | "
	       "release a"),
	/* The first build calls back after the second of the same program is done: see STUB_SUPERSEDED. */
	SCRIPT("superseded", "source a | start a -DK=1 | build a -DK=2 | wait | status a | scaled a 2 | "
	       "release a"),
	/* A second call would have been made by then on drivers that call back from clBuildProgram. */
	SCRIPT("callback", "source a | start a -DK=5 | wait | notice | status a | notice | "
	       "start a -DK=6 | wait | notice | status a | notice | scaled a 2 | release a"),
	/* A build that is refused does not call back. */
	SCRIPT("callback-refused", "source a | build a -DK=6 | kernel k a scale | start a -DK=6 | "
	       "notice | drop k | release a"),
	/* A program that was given back is got again from its kernel, and outlives that. */
	SCRIPT("retained-again", "source a | build a -DK=5 | kernel k a scale | release a | owner b k | "
	       "retain b | drop k | references b | print b | release b"),
	/* The process ends with a program, a kernel and a second program alive. */
	SCRIPT("exit-live", "source a | source b | build a -DK=13 | kernel k a scale | run k 2 | "
	       "references b | exit"),
	/* An object is linked, compiled anew with $1, and linked again. */
	SCRIPT("linked-again", "source a | compile a -DK=5 | link b a \"\" | scaled b 2 | release b | "
	       "compile a $1 | link b a \"\" | scaled b 2 | release b a"),
	/*
	 * On a driver that builds programs that have kernels: a kernel of the first build (a) and one of
	 * the second (b) live while the program is built a third time, with $1, and released. Kernel $2 is
	 * released first, then $3, which keeps its program alive.
	 */
	SCRIPT("older-kernels", "source a | build a -DK=1 | kernel a a scale | build a -DK=2 | "
	       "kernel b a shift | build a $1 | status a | release a | show a | show b | drop $2 | "
	       "show $3 | owner a $3 | status a | drop $3"),
	/* The driver refuses each of these calls outright: the program stays as it was built. */
	SCRIPT("refused", "source a | build a -DK=5 | data | compile a -DK=6 | print a | status a | "
	       "devices missing | compile a -DK=6 | scaled a 2 | devices none | compile a -DK=6 | "
	       "status a | devices | headers missing | compile a -DK=6 | scaled a 2 | data | "
	       "build a -DK=6 | devices none | build a -DK=6 | status a | devices | kernel k a scale | "
	       "compile a -DK=6 | print a | status a | show k | drop k | release a"),
	/*
	 * Three objects, one of them by way of a library whose object is released at once, linked with $1;
	 * $2 is in the library's source, so that the library is new where it is another.
	 */
	SCRIPT("relink", "source o = int add(int a) { return a + $2; }\n | compile o | "
	       "source a = int add(int a);\n"
	       "kernel void value(global int *out) { out[0] = add(30) + K; }\n | compile a -DK=3 | "
	       "source b = kernel void other(global int *out) { out[0] = K; }\n | compile b -DK=4 | "
	       "link c o -create-library | release o | needs c | link d a,b,c \"$1\" | status d | "
	       "value d value | release d | references a | release a | references b | release b | "
	       "references c | release c"),
	/*
	 * Compiled or built ($1) from an intermediate language with constant $3, which then is another for
	 * builds to come, and linked with $2. What a driver refuses leaves the program as it was.
	 */
	SCRIPT("link-il", "il a | constant a $3 | $1 a -DO=1 | constant a 99 | devices missing | "
	       "compile a -DO=2 | devices | link b a \"$2\" | status b | value b value | release b a"),
	SCRIPT("named-il", "named a $1 | build a $2 | status a | print a | release a"),
	SCRIPT("il-refused", "il a | constant a 7:65:1 | build a | value a value | release a"),
	SCRIPT("object-kernels", "source a = constant int table[2] = { 5, 6 };\n"
	       "kernel void value(global int *out) { out[0] = table[out[0] & 1]; }\n | unbuilt a | "
	       "compile a -DO=1 | unbuilt a | link b a -create-library | unbuilt b | release b | "
	       "references a | build a -DO=1 | unbuilt a | release a"),
	/*
	 * Compiles with an embedded header of text $1 and name $2, perhaps a second one of text $3, then
	 * links.
	 */
	SCRIPT("embedded", "source h = $1 | source s = ${3:-/**/} | "
	       "!3 source p = #include \"embedded/value.h\"\n"
	       "kernel void value(global int *out) { out[0] = VALUE; }\n | "
	       "?3 source p = #include \"embedded/value.h\"\n#include \"second.h\"\n"
	       "kernel void value(global int *out) { out[0] = VALUE; }\n | "
	       "!3 headers h=${2:embedded/value.h} | ?3 headers h=$2 s=second.h | compile p \"\" | "
	       "status p | print p | link l p \"\" | needs l | status l | print l | value l value | "
	       "release l p h s"),
	/*
	 * A library of one object, linked into another; the program outlives its parts, a kernel outlives
	 * it.
	 */
	SCRIPT("library", "source o = int add(int a) { return a + K; }\n | compile o -DK=7 | "
	       "source a = int add(int a);\nkernel void value(global int *out) { out[0] = add(30); }\n"
	       " | compile a | link b o -create-library | needs b | status b | link c a,b | needs c | "
	       "kernel k c value | references c | release o a b c | compute k | drop k"),
	/* More inputs than most links have. */
	SCRIPT("link-many", "source a = " VALUE_5 " | compile a -DO=1 | link c a,a,a,a,a,a,a,a,a,a,a,a \"\" | "
	       "status c | print c | release c a"),
	/* Constants in each order. */
	SCRIPT("il-order", "il a | constant a $1 | constant a $2 | constant a $3 | build a | value a value | "
	       "release a"),
	/* One that was built before. */
	SCRIPT("failing-later", "source a = #ifdef FAIL\n#error not today\n#endif\n" VALUE_5
	       " | build a -DK=1 | build a -DFAIL | status a | build a -DFAIL | print a | release a"),
	/* One source that fails, built by two programs. */
	SCRIPT("failed-binaries", "source a = " FAILING " | build a -DA=1 | status a | print a | status a | "
	       "kernels a | build a -DA=2 | status a | print a | release a"),
	SCRIPT("failing-callback", "source a = " FAILING " | notify | build a -DA=1 | called | status a | release a"),
	SCRIPT("failing-again", FAILS " | " FAILS),
	/* A program built for the first device, then for the second, then for both; kernels of each. */
	SCRIPT("devices-in-turn", "source a | devices 0 | build a -DK=6 | sizes a | states a | "
	       "devices 1 | build a -DK=6 | sizes a | states a | devices * | build a -DK=6 | sizes a | "
	       "states a | release a"),
	/* For both, with a callback, then for the first. */
	SCRIPT("one-after-all", "source a | notify | build a -DK=6 | called | devices 0 | build a -DK=6 | "
	       "sizes a | states a | release a"),
	/* The second device alone, or ($1) all of them, with its binary read. */
	SCRIPT("second-device", "source a | !1 devices 1 | build a -DK=3 | taken a | release a"),
	SCRIPT("some-binaries", "source a | devices -1 1 | build a -DK=3 | binaries a | release a"),
	SCRIPT("compile-in-turn", "source a | devices 0 | compile a -DK=6 | status a | "
	       "sizes a exactly | devices 1 | compile a -DK=6 | status a | sizes a exactly | "
	       "devices * | compile a -DK=6 | status a | sizes a exactly | release a"),
	/*
	 * Two objects compiled with $1 and $2, linked with $3, for device $4 or all; then built, which some
	 * drivers do.
	 */
	SCRIPT("link-two", "source a = kernel void one(global int *out) { out[0] = ONE; }\n | "
	       "compile a $1 | source b = kernel void two(global int *out) { out[0] = TWO; }\n | "
	       "compile b $2 | ?4 devices $4 | link c a,b \"$3\" | devices | status c | print c | "
	       "build c -DO=1 | value c one | release c a b"),
	/* An object that the application has from elsewhere: its binary, linked. */
	SCRIPT("link-binary", "source a | compile a $1 | load b a | link c b \"\" | print c | "
	       "release c a b"),
	/* Fails for want of a file, twice, and then that is there. */
	SCRIPT("failing-until", FAILED("#include \"late.h\"\n" VALUE_5, "-I .") " | "
	       FAILED("#include \"late.h\"\n" VALUE_5, "-I .") " | declare late.h int late | "
	       FAILED("#include \"late.h\"\n" VALUE_5, "-I .") " | forget late.h"),
	/* Lists that name a stranger beside a device that it is built for, and a device twice. */
	SCRIPT("odd-list", "source a | devices 0 | build a -DK=3 | devices 0 none | build a -DK=3 | "
	       "release a | source a | devices 1 0 1 | build a -DK=3 | status a | "
	       "devices 0 | build a -DK=3 | sizes a | release a"),
	/* The same link plainly, with a callback, and with arguments that a driver has to refuse. */
	SCRIPT("link-odd", "source a = " VALUE_5 " | source b = " VALUE_5 " | compile a -DO=1 | "
	       "headers unnamed a | compile b -DO=1 | link c a \"\" | release c | notify | "
	       "link c a \"\" | called | release c | devices missing | link c a \"\" | release c | "
	       "devices | data | link c a \"\" | release c | release a b"),
	/* A build after, with $1, a link that the layer lets pass. */
	SCRIPT("failing-link", "source a = kernel void unresolved(global int *out) { }\n | compile a -DK=1 | "
	       "?1 notify | link b a \"\" | ?1 called | link c a -create-library | release a"),
	SCRIPT("link-before", "source a = " VALUE_5 " | source b = " VALUE_5 " | compile a -DO=1 | "
	       "?1 notify | ?1 link c a \"\" | ?1 called | ?1 release c | build b -DO=2 | release a b"),
	/*
	 * An object of a file, or ($3) a library of it, is linked with $1. The file changes between the two
	 * to the declaration $2, if that is given, and back at the end.
	 */
	SCRIPT("link-changed", "declare value.h int first | source a = #include \"value.h\"\n" VALUE_5
	       " | compile a -I . | ?3 link b a -create-library | ?2 declare value.h $2 | "
	       "?3 link c b \"$1\" | !3 link c a \"$1\" | declare value.h int first | print c | "
	       "release c b a"),
	/* What PyOpenCL appends to a source; $1: its token, $2: what is before, $3: options. */
	SCRIPT("token", "source a = $2\n" VALUE_5 "\n\n__constant int pyopencl_defeat_cache_$1 = 0; | "
	       "build a \"$3\" | count a | value a value | release a"),
	/* Complaints that may show the last line. */
	SCRIPT("tokens-failing", FAILED(TOKEN "00112233445566778899aabbccddeeff = 0;", "\"\"") " | "
	       FAILED(TOKEN "0f0e0d0c0b0a09080706050403020100 = 0;", "\"\"")),
	SCRIPT("empty", "source a =  | build a -DK=5 | status a | release a"),
	/* All kernels of a program at once, of which one's name begins with another's, and one's is long. */
	SCRIPT("kernel-order", "source a = kernel void scaled(global int *out) { out[0] = 1; }\n"
	       "kernel void scale(global int *out) { out[0] = 2; }\n"
	       "kernel void " LONG_NAME "(global int *out) { out[0] = 3; }\n | build a \"\" | kernels a | "
	       "release a"),
	/*
	 * The same bytes as a text or as an intermediate language ($1: source, il), built, compiled ($2) or
	 * included.
	 */
	SCRIPT("text-or-il", "$1 a = " VALUE_5 " | $2 a -DO=1 | status a | print a | release a"),
	SCRIPT("text-or-il-included", "$1 a = " VALUE_5 " | source b = #include \"value.h\"\n | "
	       "headers a=value.h | compile b -DO=1 | print b | release a b"),
};

__attribute__((constructor)) static void add_all(void)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		client_add(&scenarios[i]);
}
