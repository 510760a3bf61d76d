/* SPDX-License-Identifier: Apache-2.0 */
/* Writing perf.data. */
#include "record_file.h"

#include "file.h"
#include "perf_fields.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

enum {
	HEADER = 104,
	RANGE = 16, /* bytes: offset, size */
	WORD = 8,
	FEATURE_NRCPUS = 7,
	FEATURE_CLOCKID = 23,
	CLOCK_DATA_VERSION = 1,
	CLOCK_RESOLUTION = 1, /* nanoseconds */
	MISC_MMAP_DATA = 1 << 13,
};

void ux_record_file_deinit(struct ux_record_file *f)
{
	ux_out_deinit(&f->out);
	ux_out_deinit(&f->build_ids);
	ux_out_deinit(&f->file_ids);
}

enum ux_code ux_record_file_flush(struct ux_record_file *f, struct ux_error *err)
{
	UX_TRY(ux_out_status(&f->out, err));
	UX_TRY(ux_file_write_at(f->fd, f->data + f->size, ux_out_bytes(&f->out), err));
	f->size += f->out.size;
	ux_out_reset(&f->out);
	return UX_OK;
}

/* --- the front -------------------------------------------------------------------------------- */

static void record_put_range(struct ux_out *out, uint64_t off, uint64_t size)
{
	ux_out_u64(out, off);
	ux_out_u64(out, size);
}

/* A bit for each section at the end. */
struct record_features {
	uint64_t words[UX_PERF_FEATURES / 64];
	size_t n;
};

static void record_put_front(const struct ux_record_file *f, const struct ux_record_head *head,
			     const struct record_features *features, struct ux_out *out)
{
	uint64_t attr_size = sizeof(*head->attr) + RANGE;
	ux_out_put(out, "PERFILE2", WORD);
	ux_out_u64(out, HEADER);
	ux_out_u64(out, attr_size);
	record_put_range(out, HEADER, attr_size);
	record_put_range(out, f->data, f->size);
	record_put_range(out, 0, 0); /* types of events, which nothing reads */
	for (size_t i = 0; i < ux_countof(features->words); i++)
		ux_out_u64(out, features->words[i]);
	ux_out_put(out, head->attr, sizeof(*head->attr));
	record_put_range(out, HEADER + attr_size, head->n_ids * WORD);
	ux_out_put(out, head->ids, head->n_ids * WORD);
}

enum ux_code ux_record_file_begin(struct ux_record_file *f, const struct ux_record_head *head,
				  struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out front = {0};
	record_put_front(f, head, &(struct record_features){0}, &front);
	UX_TRY(ux_out_status(&front, err));
	f->data = front.size;
	return UX_OK;
}

/* --- records ---------------------------------------------------------------------------------- */

/* Begins a record; record_end() sets its size. */
static size_t record_begin(struct ux_record_file *f, uint32_t type, uint16_t misc)
{
	size_t at = f->out.size;
	ux_out_u32(&f->out, type);
	ux_out_u16(&f->out, misc);
	ux_out_u16(&f->out, 0);
	return at;
}

/* Writes a text with its NUL, padded to whole words. */
static void record_put_text(struct ux_out *out, const char *text)
{
	size_t n = strnlen(text, UX_RECORD_PATH_MAX - 1);
	ux_out_put(out, text, n);
	ux_out_u8(out, 0);
	while (++n % WORD != 0)
		ux_out_u8(out, 0);
}

static void record_end(struct ux_record_file *f, size_t at, int32_t pid, int32_t tid)
{
	ux_out_u32(&f->out, (uint32_t)pid);
	ux_out_u32(&f->out, (uint32_t)tid);
	ux_out_u64(&f->out, 0); /* time: before all others */
	ux_out_u64(&f->out, 0); /* processor */
	ux_out_u64(&f->out, 0); /* event */
	if (f->out.failed)
		return;
	uint16_t size = (uint16_t)(f->out.size - at);
	memcpy(f->out.data + at + sizeof(uint32_t) + sizeof(uint16_t), &size, sizeof(size));
}

/* Writes the identity of a mapped file: its build ID, else its device and inode. */
static void record_put_identity(struct ux_out *out, const struct ux_record_mapping *m)
{
	if (m->id.size > 0) {
		uint8_t room[UX_RECORD_ID_MAX] = {0};
		uint8_t n = (uint8_t)ux_min(m->id.size, (size_t)UX_RECORD_ID_MAX);
		memcpy(room, m->id.bytes, n);
		ux_out_put(out, (const uint8_t[]){n, 0, 0, 0}, 4);
		ux_out_put(out, room, sizeof(room));
		return;
	}
	ux_out_u32(out, major(m->dev));
	ux_out_u32(out, minor(m->dev));
	ux_out_u64(out, m->ino);
	ux_out_u64(out, m->generation);
}

void ux_record_file_mapping(struct ux_record_file *f, const struct ux_record_mapping *m)
{
	bool kernel = m->pid < 0;
	uint16_t misc = kernel ? UX_PERF_MODE_KERNEL : UX_PERF_MODE_USER;
	if (!kernel && m->id.size > 0)
		misc |= UX_PERF_MISC_MMAP_BUILD_ID;
	if (m->data)
		misc |= MISC_MMAP_DATA;
	size_t at = record_begin(f, kernel ? UX_PERF_MMAP : UX_PERF_MMAP2, misc);
	ux_out_u32(&f->out, (uint32_t)m->pid);
	ux_out_u32(&f->out, (uint32_t)m->tid);
	ux_out_u64(&f->out, m->start);
	ux_out_u64(&f->out, m->size);
	ux_out_u64(&f->out, m->offset);
	if (!kernel) {
		record_put_identity(&f->out, m);
		ux_out_u32(&f->out, m->data ? PROT_READ : PROT_READ | PROT_EXEC);
		ux_out_u32(&f->out, MAP_PRIVATE);
	}
	record_put_text(&f->out, m->path);
	record_end(f, at, m->pid, m->tid);
}

void ux_record_file_name(struct ux_record_file *f, int32_t pid, int32_t tid, const char *name)
{
	size_t at = record_begin(f, UX_PERF_COMM, 0);
	ux_out_u32(&f->out, (uint32_t)pid);
	ux_out_u32(&f->out, (uint32_t)tid);
	record_put_text(&f->out, name);
	record_end(f, at, pid, tid);
}

void ux_record_file_thread(struct ux_record_file *f, int32_t pid, int32_t tid)
{
	size_t at = record_begin(f, UX_PERF_FORK, UX_PERF_MISC_FORK_EXEC);
	ux_out_u32(&f->out, (uint32_t)pid);
	ux_out_u32(&f->out, (uint32_t)pid); /* the process that made it */
	ux_out_u32(&f->out, (uint32_t)tid);
	ux_out_u32(&f->out, (uint32_t)pid); /* the thread that made it */
	ux_out_u64(&f->out, 0);             /* time */
	record_end(f, at, pid, tid);
}

void ux_record_file_program(struct ux_record_file *f, uint64_t start, uint64_t size,
			    const char *name)
{
	size_t at = record_begin(f, UX_PERF_KSYMBOL, UX_PERF_MODE_KERNEL);
	ux_out_u64(&f->out, start);
	ux_out_u32(&f->out, (uint32_t)ux_min(size, (uint64_t)UINT32_MAX));
	ux_out_u16(&f->out, PERF_RECORD_KSYMBOL_TYPE_BPF);
	ux_out_u16(&f->out, 0); /* flags: it is there */
	record_put_text(&f->out, name);
	record_end(f, at, -1, 0);
}

void ux_record_file_round(struct ux_record_file *f)
{
	ux_out_u32(&f->out, UX_PERF_FINISHED_ROUND);
	ux_out_u16(&f->out, 0);
	ux_out_u16(&f->out, WORD);
}

void ux_record_file_build_id(struct ux_record_file *f, unsigned mode, const struct ux_id *id,
			     const char *path)
{
	struct ux_out *out = &f->build_ids;
	size_t at = out->size;
	uint8_t room[UX_RECORD_ID_MAX + 4] = {0};
	if (id->size == 0 || id->size > UX_RECORD_ID_MAX)
		return;
	memcpy(room, id->bytes, id->size);
	room[UX_RECORD_ID_MAX] = (uint8_t)id->size;
	ux_out_u32(out, 0); /* type */
	ux_out_u16(out, (uint16_t)(mode | UX_PERF_MISC_BUILD_ID_SIZE));
	ux_out_u16(out, 0);
	ux_out_u32(out, UINT32_MAX); /* process: none */
	ux_out_put(out, room, sizeof(room));
	record_put_text(out, path);
	ux_out_align(out, WORD);
	if (out->failed)
		return;
	uint16_t size = (uint16_t)(out->size - at);
	memcpy(out->data + at + sizeof(uint32_t) + sizeof(uint16_t), &size, sizeof(size));
}

void ux_record_file_id(struct ux_record_file *f, uint64_t dev, uint64_t ino, uint64_t generation,
		       const struct ux_id *id)
{
	char text[UX_ID_TEXT];
	ux_out_u32(&f->file_ids, major(dev));
	ux_out_u32(&f->file_ids, minor(dev));
	ux_out_u64(&f->file_ids, ino);
	ux_out_u64(&f->file_ids, generation);
	record_put_text(&f->file_ids, ux_id_format(id, text));
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Writes a text after its size. */
static void record_put_sized(struct ux_out *out, const char *text)
{
	enum {
		ALIGNMENT = 64 /* perf reads a multiple of this */
	};
	size_t n = (strlen(text) + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	ux_out_u32(out, (uint32_t)n);
	size_t end = out->size + n;
	ux_out_cstr(out, text);
	while (!out->failed && out->size < end)
		ux_out_u8(out, 0);
}

static void record_put_events(struct ux_out *out, const struct ux_record_head *head)
{
	bool timer = head->attr->type == PERF_TYPE_SOFTWARE;
	ux_out_u32(out, 1);
	ux_out_u32(out, sizeof(*head->attr));
	ux_out_put(out, head->attr, sizeof(*head->attr));
	ux_out_u32(out, (uint32_t)head->n_ids);
	record_put_sized(out, timer ? "cpu-clock" : "cycles");
	ux_out_put(out, head->ids, head->n_ids * WORD);
}

/* Writes the section of one feature; false: it has none. */
static bool record_put_feature(const struct ux_record_file *f, const struct ux_record_head *head,
			       const struct utsname *host, unsigned feature, struct ux_out *out)
{
	switch (feature) {
	case UX_PERF_FEATURE_BUILD_ID:
		ux_out_put(out, f->build_ids.data, f->build_ids.size);
		return f->build_ids.size > 0;
	case UX_PERF_FEATURE_FILE_IDS:
		ux_out_put(out, f->file_ids.data, f->file_ids.size);
		return f->file_ids.size > 0;
	case UX_PERF_FEATURE_HOSTNAME:
		record_put_sized(out, host->nodename);
		return true;
	case UX_PERF_FEATURE_OS_RELEASE:
		record_put_sized(out, host->release);
		return true;
	case UX_PERF_FEATURE_ARCH:
		record_put_sized(out, host->machine);
		return true;
	case FEATURE_NRCPUS:
		ux_out_u32(out, (uint32_t)head->n_cpus);
		ux_out_u32(out, (uint32_t)head->n_cpus);
		return true;
	case UX_PERF_FEATURE_EVENT_DESC:
		record_put_events(out, head);
		return true;
	case FEATURE_CLOCKID:
		ux_out_u64(out, CLOCK_RESOLUTION);
		return true;
	case UX_PERF_FEATURE_CLOCK_DATA:
		ux_out_u32(out, CLOCK_DATA_VERSION);
		ux_out_u32(out, (uint32_t)head->attr->clockid);
		ux_out_u64(out, (uint64_t)head->wall_ns);
		ux_out_u64(out, (uint64_t)head->clock_ns);
		return true;
	default:
		return false;
	}
}

enum ux_code ux_record_file_end(struct ux_record_file *f, const struct ux_record_head *head,
				struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out front = {0}, table = {0}, sections = {0};
	struct utsname host = {0};
	struct record_features features = {0};
	size_t ends[UX_PERF_FEATURES];
	uint64_t at = 0;
	UX_TRY(ux_record_file_flush(f, err));
	UX_TRY(ux_out_status(&f->build_ids, err));
	UX_TRY(ux_out_status(&f->file_ids, err));
	(void)uname(&host);
	for (unsigned i = 0; i < ux_countof(ends); i++) {
		if (record_put_feature(f, head, &host, i, &sections)) {
			features.words[i / 64] |= (uint64_t)1 << i % 64;
			features.n++;
		}
		ends[i] = sections.size;
	}
	uint64_t off = f->data + f->size + RANGE * features.n;
	for (unsigned i = 0; i < ux_countof(ends); at = ends[i++])
		if ((features.words[i / 64] >> i % 64 & 1) != 0)
			record_put_range(&table, off + at, ends[i] - at);
	UX_TRY(ux_out_status(&table, err));
	UX_TRY(ux_out_status(&sections, err));
	UX_TRY(ux_file_write_at(f->fd, f->data + f->size, ux_out_bytes(&table), err));
	UX_TRY(ux_file_write_at(f->fd, off, ux_out_bytes(&sections), err));
	record_put_front(f, head, &features, &front);
	UX_TRY(ux_out_status(&front, err));
	return ux_file_write_at(f->fd, 0, ux_out_bytes(&front), err);
}
