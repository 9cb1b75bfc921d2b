/* SPDX-License-Identifier: MIT */
/* redis_tls: a context of OpenSSL, and one SSL for each connection. */
#include "storage/redis_tls.h"

#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* The type is opaque to others: it is OpenSSL's own. */
static SSL_CTX *context_of(struct storage_redis_tls *tls)
{
	return (SSL_CTX *)tls;
}

struct storage_redis_tls *storage_redis_tls_new(const char *ca_file)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());

	if (!context)
		return NULL;
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
	    (ca_file ? SSL_CTX_load_verify_file(context, ca_file)
		     : SSL_CTX_set_default_verify_paths(context)) == 1)
		return (struct storage_redis_tls *)context;
	SSL_CTX_free(context);
	return NULL;
}

/* What the certificate must be for. An address has no name to send to the server. */
static bool set_name(SSL *ssl, const char *host)
{
	X509_VERIFY_PARAM *wanted = SSL_get0_param(ssl);

	if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host) == 1)
		return true;
	X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return X509_VERIFY_PARAM_set1_host(wanted, host, 0) == 1 &&
	       SSL_set_tlsext_host_name(ssl, host) == 1;
}

bool storage_redis_tls_begin(struct storage_redis_tls *tls, struct redisContext *context,
			     const char *host)
{
	SSL *ssl = SSL_new(context_of(tls));

	if (ssl && set_name(ssl, host) && redisInitiateSSL(context, ssl) == REDIS_OK)
		return true;	/* the connection has the SSL now */
	SSL_free(ssl);
	return false;
}
