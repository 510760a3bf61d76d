/* SPDX-License-Identifier: Apache-2.0 */
/* Access as the configuration says. */
#include "access_settings.h"

enum {
	TEXT_MOST = 1 << 20 /* of all origins */
};

/* One configuration that is, or was, in force. */
struct in_force {
	struct ux_access access;
	struct ux_arena arena; /* of the origins */
	struct in_force *before;
};

static void destroy(struct in_force *f)
{
	if (!f)
		return;
	ux_arena_deinit(&f->arena);
	free(f);
}

static void drop(struct in_force **f)
{
	destroy(*f);
}

static enum ux_code read_networks(const struct ux_setting_list *list, struct ux_networks *ret,
				  struct ux_error *err)
{
	for (size_t i = 0; i < list->n; i++) {
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = ux_networks_add(ret, list->items[i], &why);
		if (code != UX_OK)
			return ux_error_set(err, UX_EINVAL, "trusted-proxies: %s", why.text);
	}
	return UX_OK;
}

static enum ux_code copy_origins(struct in_force *f, const struct ux_setting_list *list,
				 struct ux_error *err)
{
	const char **origins = ux_arena_array(&f->arena, const char *, list->n + 1);
	if (!origins)
		return ux_arena_fail(&f->arena, err);
	for (size_t i = 0; i < list->n; i++) {
		origins[i] = ux_arena_strndup(&f->arena, list->items[i], strlen(list->items[i]));
		if (!origins[i])
			return ux_arena_fail(&f->arena, err);
	}
	f->access.origins = origins;
	f->access.n_origins = list->n;
	return UX_OK;
}

enum ux_code ux_access_apply(struct ux_server *s, const struct ux_settings *settings,
			     struct ux_error *err)
{
	ux_cleanup(drop) struct in_force *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	ux_arena_init(&f->arena, TEXT_MOST);
	f->access = (struct ux_access){
		.key_rate = {settings->rate_key, settings->rate_key_burst},
		.address_rate = {settings->rate_address, settings->rate_address_burst},
		.wait_most_ms = (unsigned)settings->queue_ms,
		.uploads_key = settings->uploads_key,
		.uploads_all = settings->uploads_all,
		.upload_bytes_key = settings->uploads_bytes_key,
		.upload_bytes_all = settings->uploads_bytes_all,
	};
	UX_TRY(read_networks(&settings->trusted_proxies, &f->access.proxies, err));
	UX_TRY(copy_origins(f, &settings->origins, err));
	const struct ux_access *before = atomic_load_explicit(&s->access, memory_order_relaxed);
	f->before = before ? ux_container_of(before, struct in_force, access) : NULL;
	/* Whoever sees the pointer sees what it points to. */
	atomic_store_explicit(&s->access, &ux_take(&f)->access, memory_order_release);
	return UX_OK;
}

void ux_access_forget(struct ux_server *s)
{
	const struct ux_access *a = atomic_exchange(&s->access, NULL);
	struct in_force *f = a ? ux_container_of(a, struct in_force, access) : NULL;
	while (f) {
		struct in_force *before = f->before;
		destroy(f);
		f = before;
	}
}
