# SPDX-License-Identifier: MIT
"""A storage helper that misbehaves, in the way that its URL names: fake:mute."""
import os
import socket
import struct
import sys
import threading
import time

GREETING = b"\x01\x03\x00\x01\x80"
HOW = os.environ["CRSH_URL"].partition(":")[2]


def pause():
    while True:
        time.sleep(1000)


def flood(client, data):
    while True:
        client.sendall(data)


def drip(client, data):
    while True:
        client.sendall(data)
        time.sleep(0.02)


def greet(client):
    if HOW == "silent":
        pause()
    elif HOW == "garbage":
        flood(client, os.urandom(4096))
    elif HOW == "version":
        client.sendall(b"\x02\x01\x00")
    elif HOW == "incapable":
        client.sendall(b"\x01\x01\x01")
    elif HOW == "endless-greeting":
        client.sendall(b"\x01\xff")
        drip(client, b"\x00")
    elif HOW == "half-greeting":
        client.sendall(b"\x01")
        pause()
    elif HOW == "hangs-up":
        client.sendall(GREETING)
    else:
        client.sendall(GREETING)
        return True
    return False


def answer(client, request):
    if HOW == "mute":
        pause()
    elif HOW == "dies":
        os._exit(1)
    elif HOW == "wrong-answer":
        client.sendall(b"\x77")
    elif HOW == "vast":
        client.sendall(b"\x00" + struct.pack("=Q", 1 << 62))
        flood(client, bytes(65536))
    elif HOW == "large":
        client.sendall(b"\x00" + struct.pack("=Q", 1 << 30))
        flood(client, bytes(65536))
    elif HOW == "slow-value":
        client.sendall(b"\x00" + struct.pack("=Q", 5000))
        drip(client, b"x")
    elif HOW == "nonsense":
        client.sendall(b"\x00" + struct.pack("=Q", 5000) + os.urandom(5000))
    elif HOW == "empty":
        client.sendall(b"\x00" + struct.pack("=Q", 0))
    elif HOW == "rude":
        client.sendall(b"\x02\xff" + b"\x1b[31m\n%s%n\x07\xff"[:13].ljust(255, b"\x9b"))
    elif HOW == "cut-message":
        client.sendall(b"\x02\xffabc")
        pause()
    elif HOW == "others-build":  # for ever
        client.sendall(b"\x01\x00")
    else:
        return False
    return True


def serve(client):
    try:
        if greet(client):
            while True:
                request = client.recv(65536)
                if not request or not answer(client, request):
                    break
    except OSError:
        pass
    client.close()


def main():
    if HOW == "ends":
        sys.exit(0)
    if HOW == "fails":
        sys.stderr.write("the moon is not full\nand more\n")
        sys.exit(1)
    if HOW == "crashes":
        os.abort()
    if HOW == "deaf":
        pause()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.environ["CRSH_IPC_ENDPOINT"])
    listener.listen(64)
    while HOW != "absent":  # it listens, and takes no connection
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()
    pause()


main()
