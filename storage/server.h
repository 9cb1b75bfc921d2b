/* SPDX-License-Identifier: MIT */
/*
 * server: the side of a storage helper that clients see, the same for all
 * helpers. It speaks version 1 of ccache's "remote storage helper
 * specification" on a Unix socket, and one capability of our own:
 *
 *   0x80  claims: who makes a value, so that others wait for it instead
 *     claim    0x80 <key> <ttl: u64, milliseconds>
 *              -> <ok> <value>: the value is there
 *               | <noop> <bool>: 1: the client has the claim now; 0: somebody else has it
 *               | <err>
 *     release  0x81 <key> -> <ok> | <noop>: there was none | <err>
 *     A claim ends with its ttl by itself.
 *
 * One thread serves each connection. Whoever can connect is trusted with the
 * storage (the socket is the user's alone), but no client can stop another:
 * one that sends nonsense, or stalls in the middle of a request, is dropped.
 */
#ifndef STORAGE_SERVER_H
#define STORAGE_SERVER_H

#include "storage/backend.h"

/*
 * The whole of a helper's main: reads the environment, listens, serves until the idle
 * time-out, a stop request, or SIGTERM. Returns an exit code: 0, 1: cannot listen, 2: the
 * settings make no sense; for both, stderr says why. After it listens it writes to no stream.
 */
int storage_server_main(const struct storage_backend *backend, int argc, char **argv);

#endif
