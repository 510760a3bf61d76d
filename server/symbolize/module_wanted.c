/* SPDX-License-Identifier: Apache-2.0 */
/* Modules that nothing here answers for. */
#include "module_wanted.h"

#include "server.h"

enum {
	RETRY_AFTER_S = 1 /* while something is fetched or extracted, and nobody knows better */
};

/* As the store has it; `why` is new. */
static enum ux_code get(struct ux_server *s, const struct ux_wanted_ask *ask,
			struct ux_open_module **ret, uint32_t *ret_retry_s, struct ux_error *why)
{
	*why = (struct ux_error)UX_ERROR_INIT;
	enum ux_code code = ux_module_cache_get(s->cache, ask->ns, ask->id, ret, why);
	*ret_retry_s = code == UX_EUNAVAILABLE ? RETRY_AFTER_S : 0;
	return code;
}

static enum ux_code is_coming(const struct ux_wanted_ask *ask, uint32_t *ret_retry_s,
			      struct ux_error *why)
{
	*ret_retry_s = ask->retry_after_s ? ask->retry_after_s : RETRY_AFTER_S;
	*why = (struct ux_error)UX_ERROR_INIT;
	return ux_error_set(why, UX_EUNAVAILABLE, "%.80s is being fetched", ask->id);
}

enum ux_code ux_server_module(struct ux_server *s, const char *ns, const char *id, uint32_t wait_ms,
			      struct ux_open_module **ret, uint32_t *ret_retry_s,
			      struct ux_error *err)
{
	struct ux_wanted_ask ask = {.ns = ns, .id = id, .wait_ms = wait_ms};
	struct ux_error why;
	enum ux_code code = get(s, &ask, ret, ret_retry_s, &why);
	if (code == UX_ENOTFOUND && s->wanted.ask) {
		switch (s->wanted.ask(s->wanted.ctx, &ask)) {
		case UX_WANTED_MISSING:
			break;
		case UX_WANTED_PENDING:
			code = is_coming(&ask, ret_retry_s, &why);
			break;
		case UX_WANTED_FOUND:
			code = get(s, &ask, ret, ret_retry_s, &why);
			break;
		}
	}
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}
