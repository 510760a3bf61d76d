/* SPDX-License-Identifier: Apache-2.0 */
/* Collects uses of modules or keys that have not been written to the index yet. */
#include "store.h"

#include "map.h"
#include "vec.h"

static uint64_t uses_hash(int64_t n)
{
	return ux_hash_u64((uint64_t)n);
}

static bool uses_eq(int64_t a, int64_t b)
{
	return a == b;
}

UX_MAP(uses, int64_t, ux_time, uses_hash, uses_eq);
UX_VEC(touches, struct ux_touch);
UX_VEC(key_touches, struct ux_key_touch);

struct ux_last_use_table {
	struct uses uses;
};

void ux_last_use_init(struct ux_last_use *u, enum ux_used what)
{
	*u = (struct ux_last_use){.what = what};
	pthread_mutex_init(&u->lock, NULL);
}

static void last_use_table_free(struct ux_last_use_table *t)
{
	if (t)
		uses_deinit(&t->uses);
	free(t);
}

void ux_last_use_deinit(struct ux_last_use *u)
{
	last_use_table_free(u->table);
	pthread_mutex_destroy(&u->lock);
	*u = (struct ux_last_use){0};
}

/* Keeps the latest use. Called with the lock held. */
static bool last_use_put(struct ux_last_use *u, int64_t number, ux_time time)
{
	bool fresh = false;
	if (!u->table)
		u->table = calloc(1, sizeof(*u->table));
	ux_time *at = u->table ? uses_insert(&u->table->uses, number, &fresh) : NULL;
	if (at)
		*at = fresh ? time : ux_max(*at, time);
	return at != NULL;
}

void ux_last_use_note(struct ux_last_use *u, int64_t number, ux_time now, bool urgent)
{
	pthread_mutex_lock(&u->lock);
	u->urgent |= urgent;
	if (!last_use_put(u, number, now))
		u->dropped = true;
	pthread_mutex_unlock(&u->lock);
}

void ux_last_use_note_all(struct ux_last_use *u, const int64_t *numbers, size_t n, ux_time now)
{
	pthread_mutex_lock(&u->lock);
	for (size_t i = 0; i < n; i++)
		if (!last_use_put(u, numbers[i], now))
			u->dropped = true;
	pthread_mutex_unlock(&u->lock);
}

bool ux_last_use_urgent(struct ux_last_use *u)
{
	pthread_mutex_lock(&u->lock);
	bool urgent = u->urgent;
	pthread_mutex_unlock(&u->lock);
	return urgent;
}

static struct ux_last_use_table *last_use_take(struct ux_last_use *u, bool *ret_dropped)
{
	pthread_mutex_lock(&u->lock);
	struct ux_last_use_table *t = u->table;
	*ret_dropped = u->dropped;
	u->table = NULL;
	u->urgent = false;
	pthread_mutex_unlock(&u->lock);
	return t;
}

static void last_use_give_back(struct ux_last_use *u, const struct ux_last_use_table *t)
{
	pthread_mutex_lock(&u->lock);
	for (size_t i = 0; t && i < t->uses.cap; i++)
		if (t->uses.entries[i].hash != 0 &&
		    !last_use_put(u, t->uses.entries[i].key, t->uses.entries[i].value))
			u->dropped = true;
	pthread_mutex_unlock(&u->lock);
}

static enum ux_code last_use_write_keys(const struct ux_last_use_table *t, struct ux_index *ix,
					struct ux_error *err)
{
	ux_cleanup(key_touches_deinit) struct key_touches v = {0};
	for (size_t i = 0; i < t->uses.cap; i++) {
		struct ux_key_touch one = {.time = t->uses.entries[i].value};
		snprintf(one.id, sizeof(one.id), "%012" PRIx64,
			 (uint64_t)t->uses.entries[i].key & UINT64_C(0xffffffffffff));
		if (t->uses.entries[i].hash != 0 && !key_touches_append(&v, one))
			return ux_error_nomem(err);
	}
	return ix->keys.touch(ix, v.data, v.size, err);
}

static enum ux_code last_use_write_modules(const struct ux_last_use_table *t, int64_t step_s,
					   struct ux_index *ix, struct ux_error *err)
{
	ux_cleanup(touches_deinit) struct touches v = {0};
	for (size_t i = 0; i < t->uses.cap; i++) {
		struct ux_touch one = {t->uses.entries[i].key, t->uses.entries[i].value};
		if (t->uses.entries[i].hash != 0 && !touches_append(&v, one))
			return ux_error_nomem(err);
	}
	return ix->modules.touch(ix, v.data, v.size, step_s, err);
}

static enum ux_code last_use_write(enum ux_used what, const struct ux_last_use_table *t,
				   struct ux_index *ix, struct ux_error *err)
{
	switch (what) {
	case UX_USED_MODULE:
		return last_use_write_modules(t, /* step_s= */ 0, ix, err);
	case UX_QUERIED_MODULE:
		return last_use_write_modules(t, UX_STORE_QUERY_S, ix, err);
	case UX_USED_KEY:
		break;
	}
	return last_use_write_keys(t, ix, err);
}

enum ux_code ux_last_use_flush(struct ux_last_use *u, struct ux_index *ix, bool *ret_complete,
			       struct ux_error *err)
{
	bool dropped = false;
	struct ux_last_use_table *t = last_use_take(u, &dropped);
	enum ux_code code = t ? last_use_write(u->what, t, ix, err) : UX_OK;
	if (code != UX_OK)
		last_use_give_back(u, t);
	last_use_table_free(t);
	if (code == UX_OK)
		*ret_complete = !dropped;
	return code;
}
