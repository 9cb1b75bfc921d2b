# SPDX-License-Identifier: MIT
"""A terminal for one command, and all that the command shows there."""
import fcntl
import os
import pty
import struct
import termios
import threading

END = b"\0"	# no command shows it
PATIENCE = 120	# seconds


def show(start, columns=80, typed=b""):
    """start(fd) starts a process on that terminal. Its exit status, and what it showed as bytes."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = start(theirs)
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()

    def end():
        process.wait()
        os.write(theirs, END)

    # A read that only ends when nobody has the other end any more may miss the last bytes.
    waiting = threading.Thread(target=end)
    waiting.start()
    if typed:
        os.write(ours, typed)
    text = b""
    while not text.endswith(END):
        text += os.read(ours, 65536)
    waiting.join()
    timer.cancel()
    os.close(theirs)
    os.close(ours)
    return process.returncode, text[:-len(END)]
