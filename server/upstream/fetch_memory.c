/* SPDX-License-Identifier: Apache-2.0 */
/* How long answers hold. */
#include "fetch_memory.h"

#include "path_canonical.h"

static int64_t span(const struct ux_fetch_times *times, enum ux_fetch_outcome outcome)
{
	switch (outcome) {
	case UX_FETCH_FOUND:
		return times->found;
	case UX_FETCH_ABSENT:
		return times->absent;
	case UX_FETCH_FAILED:
		break;
	}
	return times->failed;
}

ux_time ux_fetch_expires(const struct ux_fetch_times *times, enum ux_fetch_outcome outcome,
			 ux_time now)
{
	return now + span(times, outcome);
}

const struct ux_fetched *ux_fetch_holds(const struct ux_fetched_list *answers, const char *artifact,
					const char *upstream, const struct ux_fetch_times *times,
					ux_time now)
{
	for (size_t i = 0; i < answers->n; i++) {
		const struct ux_fetched *a = &answers->answers[i];
		if (strcmp(a->artifact, artifact) != 0 || strcmp(a->upstream, upstream) != 0)
			continue;
		ux_time most =
			ux_max(ux_fetch_expires(times, a->outcome, now), now + times->absent);
		return a->expires > now && a->expires <= most ? a : NULL;
	}
	return NULL;
}

static void put(uint8_t *text, size_t size, size_t *n, const char *s)
{
	size_t more = s ? strlen(s) : 0;
	more = ux_min(more, size - *n - 1);
	if (more > 0)
		memcpy(text + *n, s, more);
	text[*n + more] = 0;
	*n += more + 1;
}

void ux_quiet_key(const char *ns, const char *id, unsigned want, const char *path, uint8_t ret[16])
{
	uint8_t text[UX_INDEX_NS_BYTES + UX_INDEX_ID_BYTES + UX_PATH_BYTES + 16];
	size_t n = 0;
	text[n++] = (uint8_t)want;
	put(text, sizeof(text) - 8, &n, ns);
	put(text, sizeof(text) - 4, &n, id);
	put(text, sizeof(text), &n, path);
	struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes(text, n));
	memcpy(ret, hash.bytes, 16);
}

static size_t slot_of(const uint8_t key[16])
{
	uint32_t v = 0;
	memcpy(&v, key, sizeof(v));
	return v & (UX_QUIET_SLOTS - 1);
}

void ux_quiet_put(struct ux_quiet *q, const uint8_t key[16], int64_t until_ms)
{
	size_t i = slot_of(key);
	memcpy(q->slots[i].key, key, 16);
	q->slots[i].until_ms = until_ms;
}

int64_t ux_quiet_until(const struct ux_quiet *q, const uint8_t key[16], int64_t now_ms)
{
	size_t i = slot_of(key);
	return memcmp(q->slots[i].key, key, 16) == 0 && q->slots[i].until_ms > now_ms
		       ? q->slots[i].until_ms
		       : 0;
}

void ux_quiet_clear(struct ux_quiet *q)
{
	memset(q, 0, sizeof(*q));
}
