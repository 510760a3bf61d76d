/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims of fetches: among servers that share an index, only one queries the upstreams for a fetch.
 */
#include "fetcher_internal.h"

#include "text.h"

enum {
	/*
	 * seconds that a claim lasts. The claims of a server end together with its leases when it
	 * exits. Another server may repeat a download that takes longer; it is stored once.
	 */
	CLAIM_S = 120,
};

static void fetch_claim_name(const uint8_t key[UX_FETCH_KEY_SIZE],
			     char text[2 * UX_FETCH_KEY_SIZE + 1])
{
	ux_hex_encode(ux_bytes(key, UX_FETCH_KEY_SIZE), text);
}

bool ux_fetch_claim(struct ux_store *store, struct ux_fetch *fetch)
{
	struct ux_index *ix = store->index;
	char subject[2 * UX_FETCH_KEY_SIZE + 1];
	fetch_claim_name(fetch->key, subject);
	const struct ux_job spec = {.kind = UX_JOB_FETCH, .subject = subject, .ns = fetch->ns};
	bool mine = true;
	if (!store->fleet)
		return true;
	/* If the database is unavailable, nothing can be stored either, so a query is harmless. */
	if (ix->jobs.claim(ix, &spec, store->node, ux_store_now(store), CLAIM_S, &mine, NULL) !=
	    UX_OK)
		mine = true;
	fetch->claimed = mine;
	return mine;
}

void ux_fetch_unclaim_later(struct ux_fetcher *f, const struct ux_fetch *fetch)
{
	if (!fetch->claimed || f->n_unclaims == ux_countof(f->unclaims))
		return; /* the claim expires by itself */
	memcpy(f->unclaims[f->n_unclaims++], fetch->key, UX_FETCH_KEY_SIZE);
	pthread_cond_signal(&f->changed);
}

void ux_fetch_unclaim(struct ux_fetcher *f)
{
	struct ux_index *ix = f->store->index;
	char subject[2 * UX_FETCH_KEY_SIZE + 1];
	fetch_claim_name(f->unclaims[--f->n_unclaims], subject);
	pthread_mutex_unlock(&f->lock);
	(void)!ix->jobs.unclaim(ix, UX_JOB_FETCH, subject, f->store->node, NULL);
	pthread_mutex_lock(&f->lock);
}
