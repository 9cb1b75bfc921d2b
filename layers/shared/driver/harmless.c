/* SPDX-License-Identifier: MIT */
/* harmless: the lists of names, as patterns for fnmatch; what is not listed is harmful, or unproven. */
#include "layers/shared/driver/harmless.h"

#include <fnmatch.h>
#include <stdint.h>
#include <string.h>

/* Of every driver: those that standards have, and those of clang that only shape programs and logs. */
static const char *const common[] = {
	/* OpenCL 3.0, clBuildProgram, and its extensions for SPIR */
	"-D*", "-I*", "-w", "-g", "-x", "-spir-std=*", "-create-library", "-enable-link-options",
	"-cl-std=*", "-cl-single-precision-constant", "-cl-denorms-are-zero",
	"-cl-fp32-correctly-rounded-divide-sqrt", "-cl-opt-disable", "-cl-strict-aliasing",
	"-cl-uniform-work-group-size", "-cl-no-subgroup-ifp", "-cl-mad-enable",
	"-cl-no-signed-zeros", "-cl-unsafe-math-optimizations", "-cl-finite-math-only",
	"-cl-fast-relaxed-math", "-cl-kernel-arg-info",
	/* Level Zero 1.13, zeModuleCreate */
	"-ze-opt-disable", "-ze-opt-level", "-ze-opt-level=*",
	"-ze-opt-greater-than-4GB-buffer-required", "-ze-opt-large-register-file",
	"-ze-opt-has-buffer-offset-arg", "-ze-take-global-address",
	"-ze-fp32-correctly-rounded-divide-sqrt", "-library-compilation",
	/* clang 22; of -W those with a comma hand options on */
	"-U*", "-isystem*", "-iquote*", "-idirafter*", "-include", "-imacros", "-nostdinc",
	"-cl-no-stdinc", "-cl-ext=*", "-std=*", "-pedantic", "-pedantic-errors", "-W*", "-O",
	"-O[0123sgz]", "-Ofast", "-g[0123]", "-ggdb", "-gline-tables-only", "-m32", "-m64",
	"-ffast-math", "-fno-fast-math", "-ffp-contract=*", "-ffp-model=*",
	"-ffp-exception-behavior=*", "-ffinite-math-only", "-fno-finite-math-only", "-fapprox-func",
	"-fassociative-math", "-freciprocal-math", "-fmath-errno", "-fno-math-errno",
	"-fsigned-zeros", "-fno-signed-zeros", "-fdenormal-fp-math=*", "-fdenormal-fp-math-f32=*",
	"-ftrapping-math", "-fno-trapping-math", "-frounding-math", "-fno-rounding-math",
	"-fsigned-char", "-funsigned-char", "-fstrict-aliasing", "-fno-strict-aliasing", "-fwrapv",
	"-funroll-loops", "-fno-unroll-loops", "-finline", "-finline-functions", "-fno-inline",
	"-fvectorize", "-fno-vectorize", "-fslp-vectorize", "-fno-slp-vectorize", "-fno-builtin",
	"-fblocks", "-fdeclspec", "-fgnu-keywords", "-fgnu89-inline", "-fms-extensions", "-fcommon",
	"-fno-common", "-fpack-struct*", "-fshort-enums", "-fshort-wchar", "-fvisibility=*",
	"-fcolor-diagnostics", "-fno-color-diagnostics", "-fdiagnostics-color",
	"-fdiagnostics-color=*", "-fdiagnostics-show-option", "-fno-diagnostics-show-option",
	"-fcaret-diagnostics", "-fno-caret-diagnostics", "-fshow-column", "-fno-show-column",
	"-ferror-limit=*", "-fmacro-backtrace-limit=*",
	"-Xclang",	/* the next word is for the front end */
};

/*
 * Families of which not all names are known: what vendors call so shapes one program. Not clang's -f* and
 * -m*: of some its driver makes settings of LLVM, which stay for later builds; it leaves alone what comes
 * after -Xclang, and there nothing else is known.
 */
static const char *const vendors[] = { "-cl-*", "-qcom-*", "-cmc", "-Qxcm_*" };
static const char *const front_end[] = { "-f*" };

/*
 * But not names that speak of files, of messages or measurements (which may come when the process ends), of
 * what has its effect beyond one build, or of options that are handed on. In any case of letters.
 */
static const char *const telling[] = {
	"*dump*", "*print*", "*emit*", "*save*", "*trace*", "*time*", "*stat*", "*report*", "*record*",
	"*log*", "*verbose*", "*diagnostic*", "*remark*", "*debug*", "*output*", "*file", "*file=*",
	"*file-*", "*-file*", "*path*", "*dir*", "*[/,:@]*", "*cache*", "*module*", "*help*", "*version*",
	"*crash*", "*bisect*", "*profil*", "*coverage*", "*instrument*", "*sanitize*", "*xray*", "*gtpin*",
	"*plugin*", "*pass*", "*load*", "*llvm*", "*option*", "*opts*",
};

/* By the texts of NEO 22.43 and 26.27 and their IGC; not those that instrument, debug or hand options on. */
const char *const drv_intel_options[] = {
	"-[cz][le]-allow-zebin", "-[cz][le]-disable-zebin", "-[cz][le]-enable-zebin",
	"-cl-intel-allow-zebin", "-cl-intel-disable-zebin", "-cl-intel-enable-zebin",
	"-[cz][le]-intel-128-GRF-per-thread", "-[cz][le]-intel-256-GRF-per-thread",
	"-[cz][le]-intel-512-GRF-per-thread", "-ze-opt-128-GRF-per-thread",
	"-ze-opt-256-GRF-per-thread", "-ze-opt-512-GRF-per-thread",
	"-[cz][le]-intel-enable-auto-large-GRF-mode", "-ze-opt-enable-auto-large-GRF-mode",
	"-cl-opt-large-register-file", "-ze-exp-register-file-size*", "-cl-intel-large-grf-kernel",
	"-cl-intel-regular-grf-kernel", "-ze-opt-large-grf-kernel", "-ze-opt-regular-grf-kernel",
	"-[cz][le]-intel-num-thread-per-eu*", "-cl-intel-reqd-eu-thread-count*",
	"-cl-intel-greater-than-4GB-buffer-required", "-cl-intel-force-disable-4GB-buffer",
	"-[cz][le]-intel-has-buffer-offset-arg", "-cl-intel-buffer-offset-arg-required",
	"-ze-opt-buffer-offset-arg-required", "-cl-intel-has-positive-pointer-offset",
	"-ze-opt-has-positive-pointer-offset", "-cl-intel-has-subDW-aligned-ptr-arg",
	"-ze-opt-has-subDW-aligned-ptr-arg", "-[cz][le]-intel-disable-a64WA",
	"-[cz][le]-intel-force-enable-a64WA", "-cl-intel-disable-sendwarwa",
	"-ze-opt-disable-sendwarwa", "-ze-opt-disable-recompilation",
	"-cl-intel-enable-divergent-barrier-handling",
	"-[cz][le]-intel-enable-ieee-float-exception-trap", "-cl-intel-force-emu-sp-int32divrem",
	"-[cz][le]-intel-force-global-mem-allocation", "-[cz][le]-force-global-mem-allocation",
	"-[cz][le]-intel-no-local-to-generic", "-[cz][le]-no-local-to-generic",
	"-[cz][le]-intel-no-prera-scheduling", "-[cz][le]-intel-no-spill",
	"-[cz][le]-intel-use-32bit-ptr-arith", "-[cz][le]-intel-use-bindless-mode",
	"-cl-intel-use-bindless-advanced-mode", "-[cz][le]-intel-use-bindless-buffers",
	"-[cz][le]-intel-use-bindless-images", "-[cz][le]-intel-use-bindless-printf",
	"-[cz][le]-intel-vector-coalesing=*", "-ze-intel-64bit-addressing",
	"-[cz][le]-fp64-gen-emu", "-[cz][le]-fp64-gen-conv-emu",
	"-[cz][le]-poison-unsupported-fp64-kernels", "-[cz][le]-replace-global-offsets-by-zero",
	"-cl-take-global-address", "-cl-match-sincospi", "-[cz][le]-library-compilation",
	"-cl-load-cache-default=*", "-cl-store-cache-default=*", "-ze-uniform-work-group-size",
	"-ze-no-subgroup-ifp", "-ze-no-vector-decomposition", "-ze-no-fusedCallWA", "-cmc",
	"-doubleGRF", "-vc-codegen", "-vc-use-plain-2d-images", "-vc-enable-preemption",
	"-vc-disable-non-overlapping-region-opt", "-vc-loop-unroll-threshold=*",
	"-vc-ignore-loop-unroll-threshold-on-pragma", "-vc-interop-subgroup-size", NULL,
};

/* cl_nv_compiler_options */
const char *const drv_nvidia_options[] = {
	"-cl-nv-maxrregcount", "-cl-nv-maxrregcount=*", "-cl-nv-opt-level", "-cl-nv-opt-level=*",
	"-cl-nv-cstd=*", "-cl-nv-verbose", NULL,
};

/* clang's for its processors */
const char *const drv_amd_options[] = {
	"-mcumode", "-mno-cumode", "-mwavefrontsize64", "-mno-wavefrontsize64", "-munsafe-fp-atomics", NULL,
};

/*
 * Variables by which drivers write what a hit would not: files and messages about what is compiled.
 * Not those about what is executed, which a hit leaves alone.
 */
static const char *const writing[] = {
	/* Intel's: IGC's, the vector compiler's, and NEO's debug variables */
	"IGC_*Dump*", "IGC_*Print*", "IGC_*Metrics*", "IGC_*Stats*", "IGC_*Log*", "IGC_*ToFile*",
	"IGC_*Report*", "IGC_*Trace*", "VC_*Dump*", "VC_*Print*", "Dump*", "Log*", "Print*",
	"NEO_*Dump*", "NEO_*Log*", "NEO_*Print*",
	/* Mesa's */
	"MESA_*DUMP*", "MESA_*CAPTURE*", "CLC_DEBUG", "RUSTICL_DEBUG", "NIR_DEBUG", "GALLIVM_DEBUG",
	"GALLIUM_*DUMP*", "GALLIUM_PRINT*", "GALLIUM_TRACE*", "GALLIUM_LOG_FILE", "LP_DEBUG",
	"CLOVER_DEBUG*", "AMD_DEBUG", "RADV_DEBUG", "R600_DEBUG", "INTEL_*DEBUG", "INTEL_SHADER_*",
	"IRIS_*DEBUG", "*_MESA_DEBUG", "ASAHI_*DEBUG", "IR3_SHADER_*", "NV50_PROG_*", "PAN_*DEBUG",
	"V3D_DEBUG", "VC4_DEBUG", "ZINK_DEBUG",
	/* pocl's, oclgrind's, AMD's, those of Intel's CPU runtime, and CUDA's compiler's */
	"POCL_LEAVE_*", "POCL_*DUMP*", "OCLGRIND_DUMP*", "AMD_COMGR_SAVE*", "AMD_COMGR_*LOGS",
	"AMD_COMGR_TIME_STATISTICS", "AMD_OCL_*SAVE*", "AMD_OCL_*DUMP*", "GPU_*DUMP*", "GPU_*SAVE*",
	"CL_CONFIG_*DUMP*", "NVVM_*DUMP*",
};

/* Variables whose value is added to the options, or takes their place. */
static const char *const adding[] = {
	"POCL_EXTRA_BUILD_FLAGS", "AMD_OCL_*BUILD_OPTIONS*", "CLOVER_EXTRA_*_OPTIONS", "Inject*Options",
	"NEO_*Inject*Options",
};

enum { MAX_NAME = 64 };	/* no list has a longer name */
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* The list may also end with NULL. flags: fnmatch's. */
static bool is_listed(const char *name, const char *const *list, size_t count, int flags)
{
	for (size_t i = 0; i < count && list[i]; i++) {
		if (fnmatch(list[i], name, flags) == 0)
			return true;
	}
	return false;
}

bool drv_options_is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

bool drv_options_is_mark(char byte)
{
	return byte == '"' || byte == '\'' || byte == '\\';
}

bool drv_options_each(const char *options,
		      bool (*judge)(const char *option, size_t len, bool value, const void *ctx), const void *ctx)
{
	const char *at = options ? options : "";
	char option[MAX_NAME];
	size_t len = 0;

	while (*at) {
		bool value = len == 2 && option[0] == '-' && strchr("DIUx", option[1]);

		len = 0;
		while (drv_options_is_blank(*at) || drv_options_is_mark(*at))
			at++;
		for (; *at && !drv_options_is_blank(*at); at++) {
			if (!drv_options_is_mark(*at) && len < MAX_NAME)
				option[len++] = *at;
		}
		if (len && !judge(option, len, value, ctx))
			return false;
	}
	return true;
}

/* By its beginning, which ctx is. */
static bool judge_beginning(const char *option, size_t len, bool value, const void *ctx)
{
	const char *beginning = ctx;
	size_t size = strlen(beginning);

	(void)value;
	return len < size || memcmp(option, beginning, size) != 0;
}

bool drv_options_have(const char *options, const char *beginning)
{
	return !drv_options_each(options, judge_beginning, beginning);
}

struct judging {
	const char *const *own;
	struct judged {
		bool handed_on;	/* the last word hands the next one on to the front end */
		bool unproven;	/* some option is */
	} *so_far;
};

/* Whether it is harmless, or unproven. */
static bool judge_harm(const char *option, size_t len, bool value, const void *ctx)
{
	const struct judging *judging = ctx;
	const char *const *own = judging->own;
	bool handed_on = judging->so_far->handed_on;
	char name[MAX_NAME + 1];

	judging->so_far->handed_on = false;
	if (option[0] != '-')
		return option[0] != '@' && !handed_on;	/* options from a file */
	memcpy(name, option, len);
	name[len] = '\0';
	if ((name[1] == 'W' && strchr(name, ',')) || (handed_on && !is_listed(name, front_end, COUNT(front_end), 0)))
		return false;
	if (is_listed(name, common, COUNT(common), 0) || (own && is_listed(name, own, SIZE_MAX, 0))) {
		judging->so_far->handed_on = strcmp(name, "-Xclang") == 0;
		/* As the value of another one it hands nothing on. */
		return !judging->so_far->handed_on || !value;
	}
	judging->so_far->unproven = true;
	return len < MAX_NAME && !is_listed(name, telling, COUNT(telling), FNM_CASEFOLD) &&
	       (handed_on || is_listed(name, vendors, COUNT(vendors), 0));
}

enum drv_options drv_options_judge(const char *const *own, const char *options)
{
	struct judged so_far = { false, false };

	if (!drv_options_each(options, judge_harm, &(struct judging){ own, &so_far }))
		return DRV_OPTIONS_HARMFUL;
	return so_far.unproven ? DRV_OPTIONS_UNPROVEN : DRV_OPTIONS_HARMLESS;
}

bool drv_options_are_harmless(const char *const *own, const char *options)
{
	return drv_options_judge(own, options) == DRV_OPTIONS_HARMLESS;
}

bool drv_variable_adds_options(const char *variable)
{
	size_t len = strcspn(variable, "=");
	char name[MAX_NAME + 1];

	if (len > MAX_NAME || !variable[len] || !variable[len + 1])
		return false;
	memcpy(name, variable, len);
	name[len] = '\0';
	return is_listed(name, adding, COUNT(adding), 0);
}

bool drv_variable_is_harmless(const char *const *own, const char *name, size_t len,
			      const char *value)
{
	char copy[MAX_NAME + 1];

	if (len > MAX_NAME || !*value || strcmp(value, "0") == 0)
		return true;
	memcpy(copy, name, len);
	copy[len] = '\0';
	if (is_listed(copy, adding, COUNT(adding), 0))
		return drv_options_are_harmless(own, value);
	return !is_listed(copy, writing, COUNT(writing), 0);
}
