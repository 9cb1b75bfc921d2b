# SPDX-License-Identifier: MIT
"""A rule that cannot fail rules nothing: each rule of includes.py is broken once, and found."""
import os
import sys
import tempfile

import includes

SPDX = "/* SPDX-License-Identifier: MIT */\n"
GOOD = {
    "common/a.h": SPDX,
    "common/a.c": SPDX + '#include "common/a.h"\n/* cl_mem, clBuildProgram */\n',
    "cachecore/disk/codec.c": SPDX + '#include <libdeflate.h>\n#include "common/a.h"\n',
    "cachecore/remote/sodium.c": SPDX + '#include <sodium.h>\n#include "common/a.h"\n',
    "cachecore/b.h": SPDX,
    "cachecore/api/c.h": SPDX,
    "cachecore/api/c.c": SPDX + '#include "cachecore/api/c.h"\n#include "cachecore/b.h"\n',
    "layers/shared/api/d.c": SPDX + '#include "cachecore/api/c.h"\n',
    "layers/opencl/l.h": SPDX + '#include "cachecore/b.h"\n#include <CL/cl.h>\ncl_mem x;\n',
    "layers/level_zero/z.h": SPDX,
    "tools/key/signature.c": SPDX + "#include <openssl/evp.h>\n",
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
    "cachecore/bad7.c": (SPDX + "#include <libdeflate.h>\n", "codec.c only"),
    "layers/opencl/bad8.c": (SPDX + "#include <zlib.h>\n", "codec.c only"),
    "cachecore/bad22.c": (SPDX + "#include <sodium.h>\n", "sodium.c only"),
    "tools/bad23.c": (SPDX + "#include <sodium/crypto_sign.h>\n", "sodium.c only"),
    "cachecore/bad9.c": (SPDX + "#include <CL/cl.h>\n", "below the layers"),
    "common/bad10.h": (SPDX + "int f(cl_program program);\n", "below the layers"),
    "cachecore/bad11.c": (SPDX + "void f(void) { zeInit(0); }\n", "below the layers"),
    "common/bad12.c": ("int x;\n", "no SPDX"),
    "tools/bad15.c": (SPDX + "#include <openssl/evp.h>\n", "signature.c and storage/redis_tls.c only"),
    "layers/opencl/bad16.c": (SPDX + '#include "openssl/sha.h"\n',
                               "signature.c and storage/redis_tls.c only"),
    "tools/bad20.c": (SPDX + "#include <json-c/json_object.h>\n", "json_output.h only"),
    "layers/opencl/bad21.c": (SPDX + "#include <json-c/json.h>\n", "json_output.h only"),
    "cachecore/bad17.c": (SPDX + '#include "cachecore/api/c.h"\n', "may not include"),
    "layers/opencl/bad18.c": (SPDX + '#include "cachecore/api/c.h"\n', "may not include"),
    "tools/bad19.c": (SPDX + '#include "cachecore/api/c.h"\n', "may not include"),
    "cachecore/api/bad20.c": (SPDX + '#include "layers/opencl/l.h"\n', "may not include"),
    "common/bad14.c": (SPDX + "#include <cachecore/b.h>\n", "in quotes"),
}


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as target:
        target.write(text)


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as root:
        for path, text in GOOD.items():
            write(root, path, text)
        for path, (text, _) in BAD.items():
            write(root, path, text)
        if sorted(includes.sources(root)) != sorted(list(GOOD) + list(BAD)):
            print("a file was not visited")
            failures += 1
        for path in GOOD:
            for number, message in includes.check_file(root, path):
                print("good file refused: %s:%d: %s" % (path, number, message))
                failures += 1
        for path, (_, wanted) in BAD.items():
            found = [message for _, message in includes.check_file(root, path)]
            if len(found) != 1 or wanted not in found[0]:
                print("%s: wanted one '%s', found %s" % (path, wanted, found))
                failures += 1
    print("%d failures" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
