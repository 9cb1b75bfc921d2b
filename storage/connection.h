/* SPDX-License-Identifier: MIT */
/* connection: one client's requests and their answers, on a thread of its own. */
#ifndef STORAGE_CONNECTION_H
#define STORAGE_CONNECTION_H

#include "storage/service.h"

struct storage_connection;

/* Takes the socket once it serves. NULL: out of memory. Before that, free() drops it. */
struct storage_connection *storage_connection_new(struct storage_service *service, int fd);
/* A thread's function: serves until the client leaves, then closes and frees all. */
void *storage_connection_serve(void *connection);

#endif
