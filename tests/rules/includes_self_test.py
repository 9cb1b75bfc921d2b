# SPDX-License-Identifier: MIT
"""Each rule of includes.py is broken once, and found."""
import unittest

import includes
import rule_case

SPDX = "/* SPDX-License-Identifier: MIT */\n"
GOOD = {
    "common/a.h": SPDX,
    "common/a.c": SPDX + '#include "common/a.h"\n/* cl_mem, clBuildProgram */\n',
    "cachecore/disk/compression.c": SPDX + '#include <libdeflate.h>\n#include "common/a.h"\n',
    "cachecore/remote/sodium.c": SPDX + '#include <sodium.h>\n#include "common/a.h"\n',
    "cachecore/b.h": SPDX,
    "cachecore/api/c.h": SPDX,
    "cachecore/api/c.c": SPDX + '#include "cachecore/api/c.h"\n#include "cachecore/b.h"\n',
    "layers/shared/api/d.c": SPDX + '#include "cachecore/api/c.h"\n',
    "layers/opencl/l.h": SPDX + '#include "cachecore/b.h"\n#include <CL/cl.h>\ncl_mem x;\n',
    "layers/level_zero/z.h": SPDX,
    "storage/redis_tls.c": SPDX + "#include <openssl/ssl.h>\n",
    "tools/json_output.h": SPDX + "#include <json-c/json.h>\n",
    "tools/t.c": SPDX + '#include "cachecore/b.h"\n',
}
BAD = {
    "common/bad1.c": (SPDX + '#include "cachecore/b.h"\n', "may not include"),
    "common/bad2.c": (SPDX + '#  include "../cachecore/b.h"\n', "may not include"),
    "cachecore/bad3.c": (SPDX + '#include "layers/opencl/l.h"\n', "may not include"),
    "layers/opencl/bad4.c": (SPDX + '#include "layers/level_zero/z.h"\n', "may not include"),
    "layers/opencl/bad5.c": (SPDX + '#include "../level_zero/z.h"\n', "may not include"),
    "tools/bad6.c": (SPDX + '#include "layers/opencl/l.h"\n', "may not include"),
    "cachecore/bad7.c": (SPDX + "#include <libdeflate.h>\n", "compression.c only"),
    "layers/opencl/bad8.c": (SPDX + "#include <zlib.h>\n", "compression.c only"),
    "cachecore/bad22.c": (SPDX + "#include <sodium.h>\n", "sodium.c only"),
    "tools/bad23.c": (SPDX + "#include <sodium/crypto_sign.h>\n", "sodium.c only"),
    "cachecore/bad9.c": (SPDX + "#include <CL/cl.h>\n", "below the layers"),
    "common/bad10.h": (SPDX + "int f(cl_program program);\n", "below the layers"),
    "cachecore/bad11.c": (SPDX + "void f(void) { zeInit(0); }\n", "below the layers"),
    "common/bad12.c": ("int x;\n", "no SPDX"),
    "tools/bad15.c": (SPDX + "#include <openssl/evp.h>\n", "redis_tls.c only"),
    "layers/opencl/bad16.c": (SPDX + '#include "openssl/sha.h"\n', "redis_tls.c only"),
    "tools/bad20.c": (SPDX + "#include <json-c/json_object.h>\n", "json_output.h only"),
    "layers/opencl/bad21.c": (SPDX + "#include <json-c/json.h>\n", "json_output.h only"),
    "cachecore/bad17.c": (SPDX + '#include "cachecore/api/c.h"\n', "may not include"),
    "layers/opencl/bad18.c": (SPDX + '#include "cachecore/api/c.h"\n', "may not include"),
    "tools/bad19.c": (SPDX + '#include "cachecore/api/c.h"\n', "may not include"),
    "cachecore/api/bad20.c": (SPDX + '#include "layers/opencl/l.h"\n', "may not include"),
    "common/bad14.c": (SPDX + "#include <cachecore/b.h>\n", "in quotes"),
}


class Includes(rule_case.Case):
    def test_each_rule_is_broken(self):
        root = self.tree({**GOOD, **{path: text for path, (text, _) in BAD.items()}})
        self.assertEqual(sorted(includes.sources(root)), sorted([*GOOD, *BAD]))
        for path in GOOD:
            self.assertEqual(list(includes.check_file(root, path)), [], path)
        for path, (_, wanted) in BAD.items():
            self.finds_one(wanted, [message for _, message in includes.check_file(root, path)], path)


if __name__ == "__main__":
    unittest.main()
