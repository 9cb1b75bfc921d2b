/* SPDX-License-Identifier: MIT */
/* environment: which variables count, by table. */
#include "layers/driver/environment.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


/* Prefixes of names that change code: Intel, pocl, Mesa, NVIDIA, AMD, LLVM, clang's include paths; or what a device is. */
static const char *const counted[] = {
	"IGC_",	   "NEO",     "ONEAPI_", "POCL_", "RUSTICL_", "CLOVER_", "LP_",	    "GALLIVM_",
	"GALLIUM_", "MESA_",  "NIR_",	 "CUDA_", "NVIDIA_",  "AMD_",	 "AMDGPU_", "RADV_",
	"ROC_",	   "ROCM_",   "HSA_",	 "HIP_",  "GPU_",     "OCLGRIND_", "CL_CONFIG_", "LLVM_",
	"LIBCLC_", "CPATH",   "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OPENCL_INCLUDE_PATH", "OCL_", "VC4_", "V3D_", "IRIS_", "INTEL_",
	"RADEON",  "AGX_",    "PAN_",	 "FD_",	  "ASAHI_",   "ZINK_", "ZE_AFFINITY_MASK",
	"ZE_FLAT_DEVICE_HIERARCHY",
};

/* Exceptions: where caches and dumps go, what is logged, how the loader finds drivers. */
static const char *const ignored[] = {
	"POCL_CACHE_DIR",     "POCL_DEBUG",	  "POCL_KERNEL_CACHE", "POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES",
	"POCL_TRACING",	      "MESA_SHADER_CACHE", "MESA_DISK_CACHE",  "MESA_GLSL_CACHE",
	"MESA_LOG",	      "CUDA_CACHE_",	  "NEO_CACHE_",	       "OCL_ICD_",
	"NEOReadDebugKeys",
};

static bool has_prefix(const char *name, size_t len, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *prefix = list[i];
		size_t at = 0;

		while (at < len && prefix[at] && name[at] == prefix[at])
			at++;
		if (!prefix[at])
			return true;
	}
	return false;
}

/* As Intel's debug variables are written: letters of both cases, beginning with a capital. */
static bool is_camel_case(const char *name, size_t len)
{
	bool lower = false;

	for (size_t i = 0; i < len; i++)
		lower = lower || islower((unsigned char)name[i]);
	return lower && len && isupper((unsigned char)name[0]);
}

bool drv_environment_counts(const char *name, size_t len, bool debug_keys)
{
	if (has_prefix(name, len, ignored, sizeof(ignored) / sizeof(ignored[0])))
		return false;
	if (has_prefix(name, len, counted, sizeof(counted) / sizeof(counted[0])))
		return true;
	return debug_keys && is_camel_case(name, len);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_variable(struct cc_key *key, const char *variable)
{
	const char *equals = strchr(variable, '=');
	struct cmn_buffer name = { 0 };
	char *field;

	/* A name longer than a field's can be is no compiler's. */
	cmn_buffer_printf(&name, "env.%.*s", (int)(equals - variable < 200 ? equals - variable : 200),
			  variable);
	field = cmn_buffer_take_string(&name);
	if (field)
		cc_key_add_text(key, CC_PART_OPTIONS, field, equals + 1);
	else
		key->encoded.failed = true;
	free(field);
}

/* Adds the fields by looking at every variable. */
static void add_variables(struct cc_key *key)
{
	const char *debug = getenv("NEOReadDebugKeys");
	bool debug_keys = debug && strcmp(debug, "0") != 0;
	const char **variables;
	size_t total = 0, count = 0;

	while (environ && environ[total])
		total++;
	variables = calloc(total + 1, sizeof(*variables));
	if (!variables) {
		key->encoded.failed = true;
		return;
	}
	for (size_t i = 0; i < total && environ[i]; i++) {
		const char *equals = strchr(environ[i], '=');

		if (equals && drv_environment_counts(environ[i], (size_t)(equals - environ[i]),
						     debug_keys))
			variables[count++] = environ[i];
	}
	qsort(variables, count, sizeof(*variables), compare_texts);
	if (debug_keys)
		cc_key_add_text(key, CC_PART_OPTIONS, "env.NEOReadDebugKeys", debug);
	for (size_t i = 0; i < count; i++)
		add_variable(key, variables[i]);
	free(variables);
}

/*
 * A hash over every variable, whether it counts or not, in its place. Where one
 * alone differs its own hash would have to be the same: the factor is odd.
 */
static struct cmn_hash hash_environment(void)
{
	const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);	/* of the golden ratio: bits in no order */
	uint64_t fold[2] = { 0 }, one[2];
	struct cmn_hash hash;

	for (size_t i = 0; environ && environ[i]; i++) {
		hash = cmn_hash_of(environ[i], strlen(environ[i]));
		memcpy(one, hash.bytes, sizeof(one));
		fold[0] = fold[0] * factor + one[0];
		fold[1] = fold[1] * factor + one[1];
	}
	memcpy(hash.bytes, fold, sizeof(fold));
	return hash;
}

/* false: the memo is in use, or out of date. */
static bool add_known(struct drv_environment *memo, const struct cmn_hash *hash,
		      struct cc_key *key)
{
	bool known;

	if (pthread_mutex_trylock(&memo->lock) != 0)
		return false;
	known = memo->known && cmn_hash_equal(&memo->hash, hash);
	if (known)
		cc_key_add_fields(key, &memo->fields);
	(void)pthread_mutex_unlock(&memo->lock);
	return known;
}

void drv_environment_add(struct drv_environment *memo, struct cc_key *key)
{
	struct cmn_hash hash = hash_environment();
	struct cc_key fields;

	if (add_known(memo, &hash, key))
		return;
	cc_key_init(&fields);
	add_variables(&fields);
	cc_key_add_fields(key, &fields);
	if (cc_key_status(&fields) != CMN_OK || pthread_mutex_trylock(&memo->lock) != 0) {
		cc_key_release(&fields);
		return;
	}
	cc_key_release(&memo->fields);
	memo->fields = fields;
	memo->hash = hash;
	memo->known = true;
	(void)pthread_mutex_unlock(&memo->lock);
}

/* The next field of a key that is a variable. CMN_MISS: there are no more. */
static enum cmn_status next_variable(struct cmn_reader *reader, struct cc_key_field *ret)
{
	static const char prefix[] = "env.";
	enum cmn_status status;

	do {
		status = cc_key_next(reader, ret);
	} while (status == CMN_OK &&
		 (ret->part != CC_PART_OPTIONS || ret->name.len < sizeof(prefix) - 1 ||
		  memcmp(ret->name.data, prefix, sizeof(prefix) - 1) != 0));
	return status;
}

static bool same_variables(const struct cc_key *a, const struct cc_key *b)
{
	struct cmn_reader readers[2];

	if (cc_key_read(cc_key_view(a), &readers[0]) != CMN_OK ||
	    cc_key_read(cc_key_view(b), &readers[1]) != CMN_OK)
		return false;
	for (;;) {
		struct cc_key_field fields[2];
		enum cmn_status left = next_variable(&readers[0], &fields[0]);
		enum cmn_status right = next_variable(&readers[1], &fields[1]);

		if (left != CMN_OK || right != CMN_OK)
			return left == CMN_MISS && right == CMN_MISS;
		if (!cmn_view_equal(fields[0].name, fields[1].name) ||
		    !cmn_view_equal(fields[0].value, fields[1].value))
			return false;
	}
}

bool drv_environment_holds(struct drv_environment *memo, const struct cc_key *key,
			   struct drv_environment_seen *seen)
{
	struct cmn_hash hash = hash_environment(), after;
	struct cc_key now;
	bool same;

	if (seen && seen->known && cmn_hash_equal(&seen->hash, &hash))
		return true;
	cc_key_init(&now);
	drv_environment_add(memo, &now);
	same = cc_key_status(&now) == CMN_OK && same_variables(key, &now);
	cc_key_release(&now);
	after = hash_environment();
	/* What another thread changed meanwhile was not looked at. */
	if (same && seen && cmn_hash_equal(&hash, &after))
		*seen = (struct drv_environment_seen){ true, hash };
	return same;
}
