/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of stores that a copy has seen. A signature stays valid for ever, so whoever can
 * replace a signed manifest could replay an earlier one, or another store's: a copy refuses both.
 */
#include "clock.h"
#include "clone_endpoint.h"
#include "text.h"

/* Returns a store that the target has seen; NULL: none. */
static const struct ux_manifest_state *state_any(const struct ux_manifest_head *h)
{
	return h->own.store ? &h->own : (h->n_seen > 0 ? &h->seen[0] : NULL);
}

/* A manifest without a serial, which may be older than all that have one. */
static enum ux_code state_check_undated(const struct ux_clone_options *o,
					const struct ux_manifest_head *target, struct ux_error *err)
{
	const struct ux_manifest_state *any = state_any(target);
	if (o->store)
		return ux_error_set(err, UX_ECORRUPT,
				    "the manifest does not name its store; expected \"%.60s\"",
				    o->store);
	return !o->key || !any
		       ? UX_OK
		       : ux_error_set(err, UX_ECORRUPT,
				      "the manifest has no serial, but the copy has seen serial "
				      "%" PRIu64 " of store \"%.60s\"",
				      any->serial, any->store);
}

enum ux_code ux_clone_check_state(const struct ux_clone_options *o,
				  const struct ux_manifest_head *source,
				  const struct ux_manifest_head *target, struct ux_error *err)
{
	char text[UX_MANIFEST_TIME_TEXT];
	const struct ux_manifest_state *own = &source->own;
	UX_TRY(ux_manifest_check_age(source, o->max_age_s, err));
	if (!own->store)
		return state_check_undated(o, target, err);
	if (o->store && strcmp(o->store, own->store) != 0)
		return ux_error_set(err, UX_ECORRUPT,
				    "the manifest is of store \"%.60s\"; expected \"%.60s\"",
				    own->store, o->store);
	const struct ux_manifest_state *seen = ux_manifest_state(target, own->store);
	const struct ux_manifest_state *any = state_any(target);
	if (!seen && any && !o->store)
		return ux_error_set(
			err, UX_ECORRUPT,
			"the manifest is of store \"%.60s\", but the copy has seen only "
			"\"%.60s\" and others; to add it, name the store (--store)",
			own->store, any->store);
	if (seen && own->serial < seen->serial)
		return ux_error_set(err, UX_ECORRUPT,
				    "the manifest is older than the copy: serial %" PRIu64
				    " of store \"%.60s\", signed at %s; the copy has seen serial "
				    "%" PRIu64,
				    own->serial, own->store, ux_manifest_time(source, text),
				    seen->serial);
	return UX_OK;
}

/* Notes all that a head knows, except about one store (NULL: about all). */
static enum ux_code state_see_all(struct ux_manifest_head *ret, const struct ux_manifest_head *of,
				  const char *except, struct ux_error *err)
{
	if (of->own.store && (!except || strcmp(of->own.store, except) != 0))
		UX_TRY(ux_manifest_see(ret, &of->own, err));
	for (size_t i = 0; i < of->n_seen; i++)
		if (!except || strcmp(of->seen[i].store, except) != 0)
			UX_TRY(ux_manifest_see(ret, &of->seen[i], err));
	return UX_OK;
}

static uint64_t state_serial(const struct ux_manifest_head *h, const char *store)
{
	const struct ux_manifest_state *s = ux_manifest_state(h, store);
	return s ? s->serial : 0;
}

enum ux_code ux_clone_make_head(const struct ux_clone_options *o,
				const struct ux_manifest_head *source,
				const struct ux_manifest_head *target,
				char key_id[2 * UX_MINISIGN_ID + 1], struct ux_manifest_head *ret,
				struct ux_error *err)
{
	/* a source may be wrong about others: only its own state counts */
	const struct ux_manifest_head said = {.own = source->own};
	const char *name = NULL;
	*ret = (struct ux_manifest_head){0};
	if (o->signer) {
		ux_hex_encode(ux_bytes(o->signer->id, sizeof(o->signer->id)), key_id);
		name = o->sign_as ? o->sign_as : target->own.store ? target->own.store : key_id;
		/* an archive has no earlier manifest: the clock is a serial that needs no memory */
		ret->time = ux_clock_wall();
		ret->own =
			(struct ux_manifest_state){name, (uint64_t)ux_max(ret->time, INT64_C(1))};
		ret->own.serial = ux_max(ret->own.serial, 1 + state_serial(target, name));
		ret->own.serial = ux_max(ret->own.serial, 1 + state_serial(&said, name));
	}
	UX_TRY(state_see_all(ret, target, name, err));
	return state_see_all(ret, &said, name, err);
}

bool ux_clone_head_covers(const struct ux_manifest_head *source,
			  const struct ux_manifest_head *target)
{
	const struct ux_manifest_state *own = &target->own;
	if (own->store && state_serial(source, own->store) < own->serial)
		return false;
	for (size_t i = 0; i < target->n_seen; i++)
		if (state_serial(source, target->seen[i].store) < target->seen[i].serial)
			return false;
	return true;
}
