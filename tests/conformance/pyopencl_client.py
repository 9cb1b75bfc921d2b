# SPDX-License-Identifier: MIT
"""An application of PyOpenCL: three builds of two programs, with its own cache or ("plain") without; checks what they compute, but on a device that runs nothing ("amd")."""
import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void scale(__global float *a, float factor)
{
    int i = get_global_id(0);
    a[i] = a[i] * factor + N;
}
__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void add(__global float *a)
{
    a[get_global_id(0)] += 1;
}
"""


def main():
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    for n in (1, 2, 1):
        options = ["-DN=%d" % n]
        program = cl.Program(context, SOURCE)
        program = program.build(options, cache_dir=False if sys.argv[1] == "plain" else None)
        host = np.arange(16, dtype=np.float32)
        buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
        program.scale(queue, (16,), None, buffer, np.float32(2))
        program.add(queue, (16,), (16,), buffer)
        result = np.empty_like(host)
        cl.enqueue_copy(queue, result, buffer)
        expected = host if sys.argv[2] == "amd" else host * 2 + n + 1
        assert (result == expected).all(), result


main()
