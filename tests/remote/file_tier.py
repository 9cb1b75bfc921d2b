# SPDX-License-Identifier: MIT
"""A directory that several hosts share, as the remote tier.

    file_tier.py BUILD-DIRECTORY [TEST...]
"""
import os

import hosts


class FileTier(hosts.Case):
    def setUp(self):
        super().setUp()
        self.shared = self.path("shared")
        os.mkdir(self.shared, 0o700)
        self.remote = "file:" + self.shared

    def test_what_one_host_compiles_another_uses(self):
        one, two = self.host("one", self.remote), self.host("two", self.remote)
        self.assertEqual(one.use(0, 5), "")
        self.assertEqual(one.builds(), 5)
        one.uploaded()
        self.assertEqual(two.finds(0, 5), "")
        before = two.builds()
        # It is on disk now.
        self.assertEqual(two.use(0, 5, CKCACHE_REMOTE=None), "")
        self.assertEqual(two.builds(), before)
        self.assertEqual(two.noted(), [])


if __name__ == "__main__":
    hosts.main()
