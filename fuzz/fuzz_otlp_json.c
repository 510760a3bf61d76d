/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: profiles of OTLP in JSON. Without new names a message is copied byte for byte; a location
 * that gets a name has it when the message is read again.
 */
#include "fuzz_profile.h"

#include "otlp_json.h"
#include "otlp_names.h"

/* Writes the message with the names of a profile. */
static void write_message(struct ux_bytes json, const struct ux_otlp *f, const struct ux_profile *p,
			  struct ux_out *out)
{
	ux_cleanup(ux_otlp_names_deinit) struct ux_otlp_names n = {.bytes = f->bytes};
	fuzz_truth(ux_otlp_names_read(&n, NULL) == UX_OK);
	fuzz_truth(ux_otlp_names_take(&n, p, f->first_location, NULL) == UX_OK);
	fuzz_truth(ux_otlp_json_write(&n, json, out, NULL) == UX_OK);
}

static void rewrite_truths(struct ux_bytes in, const struct ux_otlp *f, struct ux_profile *p)
{
	ux_cleanup(ux_out_deinit) struct ux_out same = {0}, named = {0}, message = {0};
	ux_cleanup(ux_profile_deinit) struct ux_profile q;
	struct ux_otlp again;
	uint32_t index = 0;
	write_message(in, f, p, &same);
	fuzz_truth(ux_bytes_eq(in, ux_out_bytes(&same)));
	fuzz_truth(ux_profile_init(&q, NULL) == UX_OK);
	if (!fuzz_profile_name_one(p, f->first_location, f->n_locations, &index))
		return;
	write_message(in, f, p, &named);
	fuzz_truth(ux_otlp_json_read(&again, ux_out_bytes(&named), &message, &q, NULL) == UX_OK);
	fuzz_truth(again.n_locations == f->n_locations);
	fuzz_profile_is_named(&q, again.first_location + index);
}

FUZZ_TARGET(otlp_json)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile p;
	ux_cleanup(ux_out_deinit) struct ux_out message = {0};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_otlp f;
	struct ux_bytes in = ux_bytes(data, size);
	(void)ux_otlp_json_is(in);
	fuzz_truth(ux_profile_init(&p, NULL) == UX_OK);
	enum ux_code code = ux_otlp_json_read(&f, in, &message, &p, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code != UX_OK)
		return 0;
	rewrite_truths(in, &f, &p);
	return 0;
}
