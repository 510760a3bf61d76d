/* SPDX-License-Identifier: Apache-2.0 */
/* Feature sections of a perf.data file: build IDs, names of events, the machine, the clock. */
#include "perf_reader.h"

#define SECTION "feature section"

bool ux_perf_feature_is_read(uint64_t feature)
{
	return feature == UX_PERF_FEATURE_BUILD_ID || feature == UX_PERF_FEATURE_HOSTNAME ||
	       feature == UX_PERF_FEATURE_OS_RELEASE || feature == UX_PERF_FEATURE_ARCH ||
	       feature == UX_PERF_FEATURE_EVENT_DESC || feature == UX_PERF_FEATURE_CLOCK_DATA ||
	       feature == UX_PERF_FEATURE_FILE_IDS;
}

/* --- build IDs -------------------------------------------------------------------------------- */

enum ux_code ux_perf_reader_build_id(struct ux_perf_reader *r, const struct ux_perf_record *record,
				     struct ux_error *err)
{
	enum {
		SHA1 = 20,
		ROOM = 24 /* bytes of an ID: 20, followed by its size */
	};
	struct ux_cur c = ux_cur_make(record->bytes, SECTION, r->swap);
	ux_cur_skip(&c, UX_PERF_RECORD_HEAD + sizeof(uint32_t)); /* pid */
	struct ux_bytes room = ux_cur_take(&c, ROOM);
	struct ux_bytes path = ux_cur_str(&c);
	UX_TRY(ux_cur_status(&c, err));
	bool has_size = (record->misc & UX_PERF_MISC_BUILD_ID_SIZE) != 0;
	size_t size = has_size ? ux_min((size_t)room.data[SHA1], (size_t)SHA1) : SHA1;
	struct ux_perf_file_id entry = {
		.id = ux_perf_build_id(ux_bytes(room.data, size), has_size),
	};
	if (entry.id.size == 0)
		return UX_OK;
	UX_TRY(ux_profile_string(r->profile, path, &entry.path, err));
	return ux_perf_file_ids_append(&r->ids, entry) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code perf_feature_build_ids(struct ux_perf_reader *r, struct ux_bytes bytes,
					   struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(bytes, SECTION, r->swap);
	while (ux_cur_more(&c)) {
		struct ux_cur head = c;
		struct ux_perf_record record = {.type = ux_cur_u32(&head)};
		record.misc = ux_cur_u16(&head);
		size_t size = ux_cur_u16(&head);
		if (size < UX_PERF_RECORD_HEAD)
			ux_cur_bad(&head, "an entry is smaller than its header");
		UX_TRY(ux_cur_status(&head, err));
		record.bytes = ux_cur_take(&c, size);
		UX_TRY(ux_cur_status(&c, err));
		UX_TRY(ux_perf_reader_build_id(r, &record, err));
	}
	return UX_OK;
}

/* Reads IDs of files by inode: each is text with a NUL, padded to whole words. */
static enum ux_code perf_feature_file_ids(struct ux_perf_reader *r, struct ux_bytes bytes,
					  struct ux_error *err)
{
	enum {
		FILES_MAX = 65536, /* files: as many as a recorder writes */
		WORD = 8
	};
	struct ux_cur c = ux_cur_make(bytes, SECTION, r->swap);
	while (ux_cur_more(&c)) {
		struct ux_perf_inode inode = ux_perf_inode_read(&c);
		struct ux_id found;
		bool fresh = false;
		struct ux_bytes text = ux_cur_str(&c);
		ux_cur_skip(&c, -(text.size + 1) % WORD);
		UX_TRY(ux_cur_status(&c, err));
		if (ux_id_parse(text, &found, NULL) != UX_OK)
			return ux_error_set(err, UX_ECORRUPT,
					    "expected an ID of a file, found \"%.*s\"",
					    (int)ux_min(text.size, (size_t)UX_ID_TEXT), text.data);
		if (r->inode_ids.size >= FILES_MAX)
			return ux_error_set(err, UX_ELIMIT, "more than %d IDs of files", FILES_MAX);
		struct ux_id *id = ux_perf_inode_ids_insert(&r->inode_ids, inode, &fresh);
		if (!id)
			return ux_error_nomem(err);
		*id = found;
	}
	return UX_OK;
}

/* Returns the ID of a module by its inode, or NULL. */
static const struct ux_id *perf_inode_id(const struct ux_perf_reader *r, size_t module)
{
	const struct ux_perf_inodes *inodes = &r->processes.inodes;
	return module < inodes->size && inodes->data[module].ino != 0
		       ? ux_perf_inode_ids_find(&r->inode_ids, inodes->data[module])
		       : NULL;
}

enum ux_code ux_perf_reader_finish_ids(struct ux_perf_reader *r, struct ux_error *err)
{
	ux_cleanup(ux_profile_numbers_deinit) struct ux_profile_numbers by_path = {0};
	for (size_t i = 0; i < r->ids.size; i++) {
		bool fresh = false;
		uint32_t *index = ux_profile_numbers_insert(&by_path, r->ids.data[i].path, &fresh);
		if (!index)
			return ux_error_nomem(err);
		*index = (uint32_t)i;
	}
	for (size_t i = 1; i < r->profile->modules.size; i++) {
		struct ux_profile_module *m = &r->profile->modules.data[i];
		if (m->id.size > 0 || m->kind == UX_PROFILE_JIT)
			continue;
		const struct ux_id *id = perf_inode_id(r, i);
		const uint32_t *index = ux_profile_numbers_find(&by_path, m->path);
		if (id)
			m->id = *id;
		else if (index)
			m->id = r->ids.data[*index].id;
	}
	return UX_OK;
}

/* --- names of events -------------------------------------------------------------------------- */

/* Reads a text after its size, which counts the NULs at its end. */
static struct ux_bytes perf_feature_text(struct ux_cur *c)
{
	struct ux_bytes text = ux_cur_take(c, ux_cur_u32(c));
	size_t size = text.size > 0 ? strnlen((const char *)text.data, text.size) : 0;
	return ux_bytes(text.data, size);
}

static enum ux_code perf_feature_string(struct ux_perf_reader *r, struct ux_bytes bytes,
					uint32_t *ret, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(bytes, SECTION, r->swap);
	struct ux_bytes text = perf_feature_text(&c);
	UX_TRY(ux_cur_status(&c, err));
	return ux_profile_string(r->profile, text, ret, err);
}

/* The event with an ID, or NULL. */
static struct ux_perf_event *perf_reader_event(struct ux_perf_reader *r, uint64_t id)
{
	const uint32_t *index = ux_profile_numbers_find(&r->events.by_id, id);
	return index ? &r->events.list.data[*index] : NULL;
}

/* Reads the events in their order, with their names and IDs. */
static enum ux_code perf_feature_events(struct ux_perf_reader *r, struct ux_bytes bytes,
					struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(bytes, SECTION, r->swap);
	uint32_t n = ux_cur_u32(&c);
	uint32_t attr_size = ux_cur_u32(&c);
	for (uint32_t i = 0; i < n && ux_cur_more(&c); i++) {
		ux_cur_skip(&c, attr_size);
		uint32_t n_ids = ux_cur_u32(&c);
		struct ux_bytes name = perf_feature_text(&c);
		struct ux_perf_event *event = NULL;
		for (uint32_t k = 0; k < n_ids && ux_cur_more(&c); k++) {
			uint64_t id = ux_cur_u64(&c);
			if (k == 0)
				event = perf_reader_event(r, id);
		}
		UX_TRY(ux_cur_status(&c, err));
		if (!event && n == r->events.list.size)
			event = &r->events.list.data[i];
		if (event)
			UX_TRY(ux_profile_string(r->profile, name, &event->name, err));
	}
	return ux_cur_status(&c, err);
}

enum ux_code ux_perf_reader_update(struct ux_perf_reader *r, const struct ux_perf_record *record,
				   struct ux_error *err)
{
	enum {
		NAME = 2 /* a property that an update may set */
	};
	struct ux_cur c = ux_cur_make(record->bytes, SECTION, r->swap);
	ux_cur_skip(&c, UX_PERF_RECORD_HEAD);
	uint64_t what = ux_cur_u64(&c);
	uint64_t id = ux_cur_u64(&c);
	UX_TRY(ux_cur_status(&c, err));
	struct ux_perf_event *event = perf_reader_event(r, id);
	if (what != NAME || !event)
		return UX_OK;
	struct ux_bytes name = ux_cur_str(&c);
	UX_TRY(ux_cur_status(&c, err));
	return ux_profile_string(r->profile, name, &event->name, err);
}

/* --- the others ------------------------------------------------------------------------------- */

/* Reads the wall clock's time at one time of the recording's clock. */
static enum ux_code perf_feature_clock(struct ux_perf_reader *r, struct ux_bytes bytes,
				       struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(bytes, SECTION, r->swap);
	ux_cur_skip(&c, 2 * sizeof(uint32_t)); /* version, number of the clock */
	uint64_t wall = ux_cur_u64(&c);
	uint64_t clock = ux_cur_u64(&c);
	UX_TRY(ux_cur_status(&c, err));
	r->wall_ns = wall;
	r->clock_ns = clock;
	return UX_OK;
}

enum ux_code ux_perf_reader_feature(struct ux_perf_reader *r, uint64_t feature,
				    struct ux_bytes bytes, struct ux_error *err)
{
	switch (feature) {
	case UX_PERF_FEATURE_BUILD_ID:
		return perf_feature_build_ids(r, bytes, err);
	case UX_PERF_FEATURE_HOSTNAME:
		UX_TRY(perf_feature_string(r, bytes, &r->summary->host, err));
		r->profile->host = r->summary->host;
		return UX_OK;
	case UX_PERF_FEATURE_OS_RELEASE:
		return perf_feature_string(r, bytes, &r->summary->os_release, err);
	case UX_PERF_FEATURE_ARCH:
		return perf_feature_string(r, bytes, &r->summary->arch, err);
	case UX_PERF_FEATURE_EVENT_DESC:
		return perf_feature_events(r, bytes, err);
	case UX_PERF_FEATURE_CLOCK_DATA:
		return perf_feature_clock(r, bytes, err);
	case UX_PERF_FEATURE_FILE_IDS:
		return perf_feature_file_ids(r, bytes, err);
	default:
		return UX_OK;
	}
}
