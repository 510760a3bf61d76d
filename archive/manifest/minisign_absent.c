/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures in a build without libsodium: each function reports UX_EUNSUPPORTED. */
#include "minisign.h"

#define ABSENT(err)                        \
	ux_error_set(err, UX_EUNSUPPORTED, \
		     "this build has no signatures: it was built without libsodium")

enum ux_code ux_minisign_public_read(struct ux_bytes text, struct ux_minisign_public *ret,
				     struct ux_error *err)
{
	(void)text, (void)ret;
	return ABSENT(err);
}

enum ux_code ux_minisign_secret_read(struct ux_bytes text, const char *password,
				     struct ux_minisign_secret *ret, struct ux_error *err)
{
	(void)text, (void)password, (void)ret;
	return ABSENT(err);
}

enum ux_code ux_minisign_verify(const struct ux_minisign_public *key, struct ux_bytes message,
				struct ux_bytes signature, struct ux_error *err)
{
	(void)key, (void)message, (void)signature;
	return ABSENT(err);
}

enum ux_code ux_minisign_sign(const struct ux_minisign_secret *key, struct ux_bytes message,
			      struct ux_out *ret, struct ux_error *err)
{
	(void)key, (void)message, (void)ret;
	return ABSENT(err);
}

enum ux_code ux_minisign_generate(struct ux_out *secret, struct ux_out *public_key,
				  struct ux_error *err)
{
	(void)secret, (void)public_key;
	return ABSENT(err);
}

void ux_minisign_secret_wipe(struct ux_minisign_secret *key)
{
	*key = (struct ux_minisign_secret){0};
}
