/* SPDX-License-Identifier: MIT */
/*
 * redis_tls: TLS for connections with Redis. hiredis_ssl carries it; OpenSSL is
 * set up here, because hiredis does not compare a certificate's name with the
 * host's. A server without a good certificate for its name is never talked to.
 */
#ifndef STORAGE_REDIS_TLS_H
#define STORAGE_REDIS_TLS_H

#include <stdbool.h>

struct redisContext;
struct storage_redis_tls;

/* ca_file: who signs servers; NULL: whom the system trusts. NULL: it cannot be read. */
struct storage_redis_tls *storage_redis_tls_new(const char *ca_file);
/* Begins TLS on a new connection. host: its name, or its address as text. */
bool storage_redis_tls_begin(struct storage_redis_tls *tls, struct redisContext *context,
			     const char *host);

#endif
