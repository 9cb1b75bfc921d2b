# SPDX-License-Identifier: MIT
"""A storage helper that others have made for ccache, with ckcache and nginx: what one host
compiled, another one finds.

    other_helper.py BUILD-DIRECTORY [FOLDER]

FOLDER has a ccache-storage-http; without it, it is sought in PATH. Skipped without one.
"""
import os
import shutil
import sys

import hosts
import tiers

import http_storage  # in tests/storage, as tiers.py says

COUNT = 20
HELPER = "ccache-storage-http"


class OtherHelper(tiers.SignedCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.work, 0o755)  # for nginx's worker
        self.server = http_storage.Nginx(self)
        self.folder = self.path("helpers")
        os.mkdir(self.folder)
        os.symlink(FOUND, os.path.join(self.folder, HELPER))
        os.symlink(hosts.built("bin", "ckcache-remote"),
                   os.path.join(self.folder, "ckcache-remote"))

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_stores_and_hits(self):
        url = self.server.url() + "/kernels"
        one = self.writer("one", url, CKCACHE_REMOTE_HELPERS=self.folder)
        self.assertEqual(one.use(0, COUNT), "")
        one.uploaded()
        self.assertIn(HELPER, " ".join(self.processes(HELPER).values()))
        two = self.reader("two", url, CKCACHE_REMOTE_HELPERS=self.folder)
        self.assertEqual(two.use(0, COUNT), "")
        self.assertEqual((one.builds(), two.builds()), (COUNT, 0))


if __name__ == "__main__":
    FOUND = shutil.which(HELPER, path=sys.argv.pop(2) if len(sys.argv) > 2 else None)
    if not FOUND:
        tiers.skip("there is no %s" % HELPER)
    if not http_storage.NGINX:
        tiers.skip("nginx is not installed")
    hosts.main()
