# SPDX-License-Identifier: MIT
"""What the rules' own tests share. A rule that cannot fail rules nothing: each breach is made once, and found."""
import os
import shutil
import tempfile
import unittest


class Case(unittest.TestCase):
    def tree(self, files):
        """A directory with these files: {path: text}."""
        root = tempfile.mkdtemp(prefix="ckcache-rules-")
        self.addCleanup(shutil.rmtree, root)
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return root

    def finds(self, wanted, found, about, least=1):
        """At least so many sentences were found, and one of them has what is wanted."""
        self.assertTrue(len(found) >= least and any(wanted in one for one in found), (about, wanted, found))

    def finds_one(self, wanted, found, about):
        self.assertEqual(len(found), 1, (about, found))
        self.assertIn(wanted, found[0], about)
