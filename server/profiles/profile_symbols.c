/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /p/{id}/pprof/profile and /p/{id}/pprof/symbol: a kept profile, or the sum of a time range, for
 * `go tool pprof`, which fetches names of addresses from the second path. Source: google/pprof,
 * "Remote Servers". The names come from the profile's own locations.
 */
#include "profile_output.h"
#include "profile_request.h"
#include "profile_span.h"
#include "profile_text.h"
#include "profiles.h"
#include "text.h"

enum {
	FILE_MAX = 256 << 20, /* bytes of a profile in the form that pprof reads */
};

/*
 * Gets the profile. {id} is the number of a profile, or "span" with the parameters of a time range.
 */
static enum ux_code symbols_get(struct ux_request *req, struct ux_profile_span **ret)
{
	struct ux_profile_request r = {.filter.ns = ux_caller_of(req)->ns};
	int64_t number = 0;
	UX_TRY(ux_profiles_check(req));
	if (ux_bytes_eq(req->params[0], UX_STR("span")))
		UX_TRY(ux_profile_request_read(req, NULL, &r));
	else
		UX_TRY(ux_profile_number(req, req->params[0], &number));
	return ux_profile_span_get(req, &r.filter, number, ret);
}

enum ux_code ux_handle_profile_pprof(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_profile_span_release) struct ux_profile_span *span = NULL;
	UX_TRY(symbols_get(req, &span));
	const struct ux_profile_output_options o = {
		.format = UX_OUTPUT_PPROF, .profile = &span->profile, .download = true};
	ux_request_answer_max(req, FILE_MAX);
	return ux_profile_output_put(req, res, &o);
}

/* Always answers with a number above 0: 0 would mean that the profile already has its names. */
enum ux_code ux_handle_profile_symbol_probe(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_profile_span_release) struct ux_profile_span *span = NULL;
	UX_TRY(symbols_get(req, &span));
	ux_out_cstr(&req->out, "num_symbols: 1\n");
	return ux_response_out(req, res, "text/plain; charset=utf-8");
}

/* The innermost name of each address. */
UX_MAP(symbol_names, uint64_t, uint32_t, ux_hash_u64, ux_profile_number_eq);

#define AMBIGUOUS UINT32_MAX /* several modules have the address, with different names */

/* Tests whether two locations have the same innermost name. */
static bool symbols_agree(const struct ux_profile *p, uint32_t a, uint32_t b)
{
	const struct ux_profile_frame *x = &p->frames.data[p->locations.data[a].first];
	const struct ux_profile_frame *y = &p->frames.data[p->locations.data[b].first];
	return x->name == y->name && x->linkage == y->linkage;
}

/*
 * Indexes the names by address. The protocol does not tell the module of an address: an address of
 * several modules with different names gets no name.
 */
static enum ux_code symbols_index(const struct ux_profile *p, struct symbol_names *names,
				  struct ux_error *err)
{
	for (size_t i = 1; i < p->locations.size; i++) {
		const struct ux_profile_location *l = &p->locations.data[i];
		bool fresh = false;
		if (l->n == 0)
			continue;
		uint32_t *slot = symbol_names_insert(names, l->address, &fresh);
		if (!slot)
			return ux_error_nomem(err);
		if (fresh)
			*slot = (uint32_t)i;
		else if (*slot != AMBIGUOUS && !symbols_agree(p, *slot, (uint32_t)i))
			*slot = AMBIGUOUS;
	}
	return UX_OK;
}

/* Writes the line of one address, "0x1234" in hexadecimal, if it has a name. */
static enum ux_code symbols_put(struct ux_request *req, const struct ux_profile *p,
				const struct symbol_names *names, struct ux_bytes word)
{
	uint64_t address = 0;
	if (!ux_hex_parse_u64(word, /* hex= */ true, &address))
		return ux_error_set(&req->err, UX_EINVAL,
				    "'%.*s' is not an address; expected 0x...",
				    (int)ux_min(word.size, (size_t)40), (const char *)word.data);
	const uint32_t *location = symbol_names_find(names, address);
	if (!location || *location == AMBIGUOUS)
		return UX_OK;
	ux_out_fmt(&req->out, "0x%" PRIx64 "\t", address);
	ux_profile_write_name(p, &p->frames.data[p->locations.data[*location].first],
			      UX_DEMANGLE_FULL, &req->out);
	ux_out_u8(&req->out, '\n');
	return ux_out_status(&req->out, &req->err);
}

enum ux_code ux_handle_profile_symbol(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_profile_span_release) struct ux_profile_span *span = NULL;
	ux_cleanup(symbol_names_deinit) struct symbol_names names = {0};
	struct ux_bytes left = req->body;
	size_t n = 0;
	UX_TRY(symbols_get(req, &span));
	UX_TRY(symbols_index(&span->profile, &names, &req->err));
	while (left.size > 0 &&
	       (left.data[left.size - 1] == '\n' || left.data[left.size - 1] == '\r'))
		left.size--;
	while (left.size > 0) {
		const uint8_t *plus = memchr(left.data, '+', left.size);
		size_t size = plus ? (size_t)(plus - left.data) : left.size;
		if (++n > UX_SYMBOLIZE_ADDRESSES_MAX)
			return ux_error_set(&req->err, UX_ELIMIT, "more than %d addresses",
					    UX_SYMBOLIZE_ADDRESSES_MAX);
		UX_TRY(symbols_put(req, &span->profile, &names, ux_bytes(left.data, size)));
		left = plus ? ux_bytes(plus + 1, left.size - size - 1) : UX_BYTES_NONE;
	}
	return ux_response_out(req, res, "text/plain; charset=utf-8");
}
