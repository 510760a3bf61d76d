/* SPDX-License-Identifier: Apache-2.0 */
/* Reads profiles in the forms in which they are received and stored. */
#include "stored_profile.h"

#include "gzip.h"
#include "packed_file.h"
#include "profile_document.h"

enum ux_code ux_profile_parse(struct ux_bytes bytes, struct ux_profile *p, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping plain = {0};
	ux_cleanup(ux_profile_document_close) struct ux_profile_document document = {0};
	if (bytes.size > UX_PROFILE_MESSAGE_MAX)
		return ux_error_set(err, UX_ELIMIT, "profile exceeds %d bytes",
				    UX_PROFILE_MESSAGE_MAX);
	if (ux_packed_is(bytes)) {
		UX_TRY(ux_packed_inflate(bytes, UX_PROFILE_MESSAGE_MAX, &plain, err));
		bytes = plain.bytes;
	}
	return ux_profile_document_read(&document, bytes, p, err);
}

/*
 * Checks the names of locations. Each location without a name is shown as its module and address,
 * as a text of its own.
 */
static enum ux_code bound_places(const struct ux_profile *p, struct ux_error *err)
{
	uint64_t sum = 0;
	for (size_t i = 1; i < p->locations.size; i++) {
		const struct ux_profile_location *l = &p->locations.data[i];
		if (l->n == 0)
			sum += ux_profile_text(p, p->modules.data[l->module].path).size;
	}
	if (sum > UX_PROFILE_NAMES_MAX)
		return ux_error_set(err, UX_ELIMIT,
				    "module names of locations without a function exceed %d bytes",
				    UX_PROFILE_NAMES_MAX);
	return UX_OK;
}

enum ux_code ux_profile_bound(struct ux_profile *p, struct ux_error *err)
{
	/*
	 * Frames of each stack including its callers. A stack has a higher number than its callers.
	 */
	ux_cleanup(ux_free_ptr) uint64_t *frames = calloc(p->stacks.size, sizeof(*frames));
	uint64_t sum = 0;
	if (!frames)
		return ux_error_nomem(err);
	UX_TRY(bound_places(p, err));
	for (size_t i = 0; i < p->frames.size; i++)
		if (p->frames.data[i].name == 0)
			p->frames.data[i].name = p->frames.data[i].linkage;
	for (size_t i = 1; i < p->stacks.size; i++) {
		const struct ux_profile_stack *s = &p->stacks.data[i];
		uint64_t own = ux_max(p->locations.data[s->location].n, (uint32_t)1);
		frames[i] = frames[s->caller] + own;
		sum += own;
	}
	for (size_t i = 0; i < p->samples.size && sum <= UX_PROFILE_WALK_MAX; i++)
		sum += frames[p->samples.data[i].stack];
	if (sum > UX_PROFILE_WALK_MAX)
		return ux_error_set(err, UX_ELIMIT, "all stacks together have more than %d frames",
				    UX_PROFILE_WALK_MAX);
	return UX_OK;
}

enum ux_code ux_stored_profile_write(const struct ux_profile *p, struct ux_out *out,
				     struct ux_error *err)
{
	ux_cleanup(ux_stream_deinit) struct ux_stream message = {0};
	UX_TRY(ux_pprof_write(p, &message, err));
	return ux_gzip_write(ux_out_bytes(&message.out), out, err);
}

enum ux_code ux_stored_profile_read(struct ux_bytes bytes, struct ux_profile *p, size_t *ret_size,
				    struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping plain = {0};
	struct ux_pprof pprof;
	UX_TRY(ux_packed_inflate(bytes, UX_PROFILE_MEMORY_MAX, &plain, err));
	*ret_size = plain.bytes.size;
	return ux_pprof_read(&pprof, plain.bytes, p, err);
}
