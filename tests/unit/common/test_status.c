/* SPDX-License-Identifier: MIT */
/* status: names and the translation from errno. */
#include "common/status.h"

#include <errno.h>
#include <string.h>

#include "tests/support/unit.h"

static void names_every_status_differently(void)
{
	for (int a = CMN_ERR_DRIVER; a <= CMN_STALE; a++) {
		CU_ASSERT_STRING_NOT_EQUAL(cmn_status_string((enum cmn_status)a), "unknown status");
		for (int b = CMN_ERR_DRIVER; b < a; b++)
			CU_ASSERT_STRING_NOT_EQUAL(cmn_status_string((enum cmn_status)a),
						   cmn_status_string((enum cmn_status)b));
	}
}

static void names_a_number_out_of_range(void)
{
	CU_ASSERT_STRING_EQUAL(cmn_status_string((enum cmn_status)1000), "unknown status");
}

static void translates_errno(void)
{
	static const struct {
		int error;
		enum cmn_status status;
	} cases[] = {
		{ 0, CMN_OK },
		{ ENOENT, CMN_MISS },
		{ ENOTDIR, CMN_MISS },
		{ ENOMEM, CMN_ERR_NOMEM },
		{ EACCES, CMN_ERR_ACCESS },
		{ EROFS, CMN_ERR_ACCESS },
		{ ELOOP, CMN_ERR_ACCESS },
		{ ENOSPC, CMN_ERR_NOSPACE },
		{ EDQUOT, CMN_ERR_NOSPACE },
		{ EFBIG, CMN_ERR_TOO_LARGE },
		{ EAGAIN, CMN_BUSY },
		{ EINVAL, CMN_ERR_INVALID },
		{ ESTALE, CMN_ERR_IO },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(cmn_status_from_errno(cases[i].error), cases[i].status);
}

int main(void)
{
	static const struct unit_test tests[] = {
		UNIT_TEST(names_every_status_differently),
		UNIT_TEST(names_a_number_out_of_range),
		UNIT_TEST(translates_errno),
	};

	return UNIT_MAIN("status", tests);
}
