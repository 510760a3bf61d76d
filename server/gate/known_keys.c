/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of keys that were read recently, or before the index became unavailable. */
#include "auth.h"

#include "blobs.h"
#include "index.h"
#include "keys.h"
#include "recent.h"

enum {
	KEYS_MAX = 4096,
};

/* a key without its texts */
struct known_key {
	struct ux_recent recent;
	struct ux_key key;
	char ns[UX_INDEX_NS_BYTES + 1];
};

bool ux_known_keys_init(struct ux_known_keys *k)
{
	const struct ux_cache_opts opts = {.value_size = sizeof(struct known_key),
					   .entries_max = KEYS_MAX};
	pthread_mutex_init(&k->lock, NULL);
	return ux_cache_init(&k->keys, &opts);
}

void ux_known_keys_deinit(struct ux_known_keys *k)
{
	ux_cache_deinit(&k->keys);
	pthread_mutex_destroy(&k->lock);
}

/* The result of a lookup in the cache. */
struct known_key_found {
	struct known_key key;
	bool there;
	bool used;       /* may be used without reading it again */
	uint64_t moment; /* for known_key_add() */
};

static struct known_key_found known_key_find(struct ux_known_keys *k, struct ux_bytes hash,
					     int64_t clock_ns)
{
	struct known_key_found ret = {0};
	pthread_mutex_lock(&k->lock);
	struct known_key *found = ux_cache_find(&k->keys, hash, clock_ns);
	if (found) {
		ret.there = true;
		ret.used = ux_recent_is_used(&found->recent, clock_ns);
		ret.key = *found;
	}
	ret.moment = k->forgotten;
	pthread_mutex_unlock(&k->lock);
	return ret;
}

/* Caches a key, unless keys were changed here after it was read, or memory is short. */
static void known_key_add(struct ux_known_keys *k, struct ux_bytes hash, int64_t clock_ns,
			  const struct ux_key *key, uint64_t moment)
{
	struct known_key *at = NULL;
	if (strlen(key->ns) > UX_INDEX_NS_BYTES)
		return;
	pthread_mutex_lock(&k->lock);
	if (moment == k->forgotten)
		at = ux_cache_insert(&k->keys, hash, clock_ns, clock_ns + UX_RECENT_AWAY_NS, NULL);
	if (at) {
		at->recent = ux_recent_read(clock_ns);
		at->key = *key;
		snprintf(at->ns, sizeof(at->ns), "%s", key->ns);
	}
	pthread_mutex_unlock(&k->lock);
}

/* Keeps a cached key while the index is unavailable. False: the key was forgotten since. */
static bool known_key_keep(struct ux_known_keys *k, struct ux_bytes hash, int64_t clock_ns)
{
	pthread_mutex_lock(&k->lock);
	struct known_key *found = ux_cache_find(&k->keys, hash, clock_ns);
	if (found)
		ux_recent_keep(&found->recent, clock_ns);
	pthread_mutex_unlock(&k->lock);
	return found != NULL;
}

/*
 * Removes a key that has ended, so that it is not used if the index becomes unavailable later,
 * whatever other threads have read.
 */
static void known_key_remove(struct ux_known_keys *k, struct ux_bytes hash)
{
	pthread_mutex_lock(&k->lock);
	k->forgotten += ux_cache_remove(&k->keys, hash);
	pthread_mutex_unlock(&k->lock);
}

enum ux_code ux_known_keys_check(struct ux_known_keys *k, struct ux_index *ix,
				 struct ux_bytes token, int64_t clock_ns, ux_time now,
				 struct ux_arena *arena, struct ux_key *ret, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	struct ux_blob_hash hash = ux_blob_hash_of(token);
	struct ux_bytes name = ux_bytes(hash.bytes, sizeof(hash.bytes));
	struct known_key_found known = known_key_find(k, name, clock_ns);
	if (!known.used) {
		enum ux_code code = ux_key_check(ix, token, now, arena, ret, &why);
		if (code == UX_OK) {
			known_key_add(k, name, clock_ns, ret, known.moment);
			return UX_OK;
		}
		if (code == UX_EDENIED)
			known_key_remove(k, name);
		if (code != UX_EUNAVAILABLE || !known.there || !known_key_keep(k, name, clock_ns)) {
			if (err)
				*err = why;
			return code;
		}
	}
	const struct ux_key *key = &known.key.key;
	if ((key->expires != 0 && key->expires <= now) ||
	    (key->token_expires != 0 && key->token_expires <= now))
		return ux_error_set(err, UX_EDENIED, "key %s or this token has expired", key->id);
	*ret = *key;
	ret->description = "";
	ret->ns = ux_arena_strndup(arena, known.key.ns, strlen(known.key.ns));
	return ret->ns ? UX_OK : ux_arena_fail(arena, err);
}

void ux_known_keys_forget(struct ux_known_keys *k)
{
	pthread_mutex_lock(&k->lock);
	k->forgotten++;
	ux_cache_clear(&k->keys);
	pthread_mutex_unlock(&k->lock);
}
