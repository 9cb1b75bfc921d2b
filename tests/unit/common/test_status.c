/* SPDX-License-Identifier: MIT */
/* status: names and the translation from errno. */
#include "common/status.h"

#include "tests/support/unit.h"

TEST(names_every_status_differently)
{
	for (int a = CMN_ERR_DRIVER; a <= CMN_STALE; a++) {
		CU_ASSERT_STRING_NOT_EQUAL(cmn_status_string((enum cmn_status)a), "unknown status");
		for (int b = CMN_ERR_DRIVER; b < a; b++)
			CU_ASSERT_STRING_NOT_EQUAL(cmn_status_string((enum cmn_status)a),
						   cmn_status_string((enum cmn_status)b));
	}
}

TEST(names_a_number_out_of_range)
{
	CU_ASSERT_STRING_EQUAL(cmn_status_string((enum cmn_status)1000), "unknown status");
}

TEST(translates_errno)
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
		{ EPERM, CMN_ERR_ACCESS },
		{ EROFS, CMN_ERR_ACCESS },
		{ ELOOP, CMN_ERR_ACCESS },
		{ ENOSPC, CMN_ERR_NOSPACE },
		{ EDQUOT, CMN_ERR_NOSPACE },
		{ EFBIG, CMN_ERR_NOSPACE },
		{ EAGAIN, CMN_BUSY },
		{ EINVAL, CMN_ERR_INVALID },
		{ ENAMETOOLONG, CMN_ERR_INVALID },
		{ EOVERFLOW, CMN_ERR_TOO_LARGE },
		{ ESTALE, CMN_ERR_IO },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(cmn_status_from_errno(cases[i].error), cases[i].status);
}
