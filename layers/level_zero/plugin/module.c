/* SPDX-License-Identifier: MIT */
/*
 * module: zeModuleCreate, on the sequence that all builds run
 * (layers/shared/sequence/sequence.h). Input that is not compiled goes to the
 * driver as it came.
 */
#include "common/bytes.h"
#include "common/cancel.h"
#include "layers/level_zero/plugin/module_key.h"
#include "layers/level_zero/plugin/native.h"
#include "layers/level_zero/plugin/plugin.h"

static struct cmn_kept_buffer spare;	/* for keys */

ze_result_t lz_module_create(struct lz_next *next, ze_context_handle_t context,
			     ze_device_handle_t device, const ze_module_desc_t *desc,
			     ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	CMN_NOT_CANCELLED;
	struct cc_key key;
	struct lz_build build = {
		.sequence = { .steps = &lz_native_steps, .cache = lz_plugin_opened, .key = &key },
		.target = { .next = next, .context = context, .device = device },
		.desc = desc, .module = module, .log = log,
	};
	/* What a driver has to refuse, it refuses (Level Zero core, zeModuleCreate, Returns). */
	if (!context || !device || !desc || !module) {
		drv_sequence_run_without_key(&build.sequence, (struct cmn_view){ 0 });
		return build.result;
	}
	drv_sequence_begin(&build.sequence);
	cc_key_init_in(&key, cmn_kept_buffer_take(&spare));
	if (lz_module_key(&build.target, desc, &key, &build.il, &build.sequence.bypass) != CMN_OK) {
		drv_sequence_run_without_key(&build.sequence, build.il);
	} else {
		build.sequence.bypass = NULL;
		lz_build_observe(&build);
		/* A log that the application does not want belongs to the entry all the same: the next one may want it. */
		if (!log)
			build.log = &build.own_log;
		/* A failed call's log is lost (native.h). */
		if (!drv_sequence_run(&build.sequence) && build.result == ZE_RESULT_SUCCESS)
			lz_log_discard(next, build.own_log);
	}
	drv_sequence_release(&build.sequence);
	cmn_kept_buffer_give(&spare, &key.encoded);
	return build.result;
}
