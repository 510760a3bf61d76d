/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler of perf.data. */
#include "make_perf.h"

#include <time.h>

enum {
	FILE_HEADER = 104,
	DATA_SIZE_AT = 48, /* offsets in the header */
	FEATURES_AT = 72,
	ATTR_BYTES = 128,
	RANGE_BYTES = 16
};

/* --- the header ------------------------------------------------------------------------------- */

static void make_perf_attr(struct ux_out *out, const struct make_perf_event *e)
{
	size_t at = out->size;
	bool big = out->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	uint64_t flags = (uint64_t)1
			 << (big ? 63 - UX_PERF_ATTR_SAMPLE_ID_ALL : UX_PERF_ATTR_SAMPLE_ID_ALL);
	if (e->freq)
		flags |= (uint64_t)1 << (big ? 63 - UX_PERF_ATTR_FREQ : UX_PERF_ATTR_FREQ);
	if (e->monotonic)
		flags |= (uint64_t)1
			 << (big ? 63 - UX_PERF_ATTR_USE_CLOCKID : UX_PERF_ATTR_USE_CLOCKID);
	ux_out_u32(out, e->type);
	ux_out_u32(out, ATTR_BYTES);
	ux_out_u64(out, e->config);
	ux_out_u64(out, e->period);
	ux_out_u64(out, e->sample_type);
	ux_out_u64(out, e->read_format);
	ux_out_u64(out, flags);
	for (int i = 0; i < 3; i++) /* wakeup, breakpoint, config1, config2 */
		ux_out_u64(out, 0);
	ux_out_u64(out, e->branch_type);
	ux_out_u64(out, e->registers);
	ux_out_u32(out, 0); /* bytes of a copied stack */
	ux_out_u32(out, e->monotonic ? CLOCK_MONOTONIC : 0);
	while (out->size < at + ATTR_BYTES && !out->failed)
		ux_out_u64(out, 0);
}

static void make_perf_pipe_head(struct ux_out *out, const struct make_perf_event *events, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = make_perf_open(out, UX_PERF_HEADER_ATTR, 0);
		make_perf_attr(out, &events[i]);
		ux_out_u64(out, events[i].id);
		make_perf_close(out, at);
	}
}

void make_perf_head(struct ux_out *out, const struct make_perf_event *events, size_t n, bool pipe)
{
	ux_out_u64(out, UINT64_C(0x32454c4946524550));
	ux_out_u64(out, pipe ? 16 : FILE_HEADER);
	if (pipe) {
		make_perf_pipe_head(out, events, n);
		return;
	}
	uint64_t attrs = FILE_HEADER + n * sizeof(uint64_t);
	uint64_t each = ATTR_BYTES + RANGE_BYTES;
	ux_out_u64(out, each);
	ux_out_u64(out, attrs);
	ux_out_u64(out, n * each);
	ux_out_u64(out, attrs + n * each);
	while (out->size < FILE_HEADER && !out->failed)
		ux_out_u64(out, 0);
	for (size_t i = 0; i < n; i++)
		ux_out_u64(out, events[i].id);
	for (size_t i = 0; i < n; i++) {
		make_perf_attr(out, &events[i]);
		ux_out_u64(out, FILE_HEADER + i * sizeof(uint64_t));
		ux_out_u64(out, sizeof(uint64_t));
	}
}

/* --- records ---------------------------------------------------------------------------------- */

size_t make_perf_open(struct ux_out *out, uint32_t type, uint16_t misc)
{
	size_t at = out->size;
	ux_out_u32(out, type);
	ux_out_u16(out, misc);
	ux_out_u16(out, 0);
	return at;
}

static void make_perf_pad(struct ux_out *out, size_t at)
{
	while ((out->size - at) % 8 != 0 && !out->failed)
		ux_out_u8(out, 0);
}

void make_perf_close(struct ux_out *out, size_t at)
{
	make_perf_pad(out, at);
	uint16_t size = (uint16_t)(out->size - at);
	if (out->swap)
		size = __builtin_bswap16(size);
	memcpy(out->data + at + 6, &size, sizeof(size));
}

/* Ends a record that is not a sample. */
static void make_perf_end(struct ux_out *out, size_t start, struct make_perf_at at)
{
	make_perf_pad(out, start);
	ux_out_u32(out, at.pid);
	ux_out_u32(out, at.tid);
	ux_out_u64(out, at.time);
	ux_out_u64(out, at.id);
	make_perf_close(out, start);
}

static void make_perf_text(struct ux_out *out, const char *text)
{
	ux_out_put(out, text, strlen(text) + 1);
}

void make_perf_inode(struct ux_out *out, uint64_t ino)
{
	ux_out_u32(out, 7); /* device */
	ux_out_u32(out, 0);
	ux_out_u64(out, ino);
	ux_out_u64(out, 7); /* generation */
}

void make_perf_mmap(struct ux_out *out, struct make_perf_at at, struct make_perf_mapping m)
{
	uint16_t misc = m.misc != 0 ? m.misc : UX_PERF_MODE_USER;
	if (m.id)
		misc |= UX_PERF_MISC_MMAP_BUILD_ID;
	size_t start = make_perf_open(out, UX_PERF_MMAP2, misc);
	ux_out_u32(out, at.pid);
	ux_out_u32(out, at.tid);
	ux_out_u64(out, m.start);
	ux_out_u64(out, m.length);
	ux_out_u64(out, m.offset);
	if (m.id) {
		ux_out_u8(out, 20);
		ux_out_u8(out, 0);
		ux_out_u16(out, 0);
		ux_out_put(out, m.id, 20);
	} else {
		make_perf_inode(out, m.ino != 0 ? m.ino : 7);
	}
	ux_out_u64(out, 0); /* protection, flags */
	make_perf_text(out, m.path);
	make_perf_end(out, start, at);
}

void make_perf_comm(struct ux_out *out, struct make_perf_at at, const char *comm, bool exec)
{
	size_t start = make_perf_open(out, UX_PERF_COMM, exec ? UX_PERF_MISC_COMM_EXEC : 0);
	ux_out_u32(out, at.pid);
	ux_out_u32(out, at.tid);
	make_perf_text(out, comm);
	make_perf_end(out, start, at);
}

static void make_perf_task(struct ux_out *out, uint32_t type, struct make_perf_at at,
			   uint32_t parent)
{
	size_t start = make_perf_open(out, type, 0);
	ux_out_u32(out, at.pid);
	ux_out_u32(out, parent);
	ux_out_u32(out, at.tid);
	ux_out_u32(out, parent);
	ux_out_u64(out, at.time);
	make_perf_end(out, start, at);
}

void make_perf_fork(struct ux_out *out, struct make_perf_at at, uint32_t parent)
{
	make_perf_task(out, UX_PERF_FORK, at, parent);
}

void make_perf_exit(struct ux_out *out, struct make_perf_at at)
{
	make_perf_task(out, UX_PERF_EXIT, at, at.pid);
}

void make_perf_ksymbol(struct ux_out *out, struct make_perf_at at, uint64_t start, uint32_t length,
		       const char *name, bool leaves)
{
	size_t record = make_perf_open(out, UX_PERF_KSYMBOL, UX_PERF_MODE_KERNEL);
	ux_out_u64(out, start);
	ux_out_u32(out, length);
	ux_out_u16(out, 1); /* a BPF program */
	ux_out_u16(out, leaves);
	make_perf_text(out, name);
	make_perf_end(out, record, at);
}

void make_perf_sample(struct ux_out *out, struct make_perf_at at, const uint64_t *chain, size_t n)
{
	size_t start = make_perf_open(out, UX_PERF_SAMPLE, UX_PERF_MODE_USER);
	ux_out_u64(out, at.id);
	ux_out_u64(out, n > 1 ? chain[1] : 0x77);
	ux_out_u32(out, at.pid);
	ux_out_u32(out, at.tid);
	ux_out_u64(out, at.time);
	ux_out_u64(out, 1000);
	ux_out_u64(out, n);
	for (size_t i = 0; i < n; i++)
		ux_out_u64(out, chain[i]);
	make_perf_close(out, start);
}

void make_perf_compressed(struct ux_out *out, uint32_t type, struct ux_bytes bytes)
{
	size_t start = make_perf_open(out, type, 0);
	if (type == UX_PERF_COMPRESSED2)
		ux_out_u64(out, bytes.size);
	ux_out_put(out, bytes.data, bytes.size);
	if (type == UX_PERF_COMPRESSED2)
		make_perf_pad(out, start);
	uint16_t size = (uint16_t)(out->size - start);
	if (out->swap)
		size = __builtin_bswap16(size);
	memcpy(out->data + start + 6, &size, sizeof(size));
}

/* --- sections after the records --------------------------------------------------------------- */

void make_perf_id(struct ux_out *out, uint16_t misc, const char *id, uint8_t size, const char *path)
{
	if (size > 0)
		misc |= UX_PERF_MISC_BUILD_ID_SIZE;
	size_t start = make_perf_open(out, UX_PERF_HEADER_BUILD_ID, misc);
	ux_out_u32(out, UINT32_MAX);
	ux_out_put(out, id, 20);
	ux_out_u8(out, size);
	ux_out_put(out, "\0\0\0", 3);
	make_perf_text(out, path);
	make_perf_close(out, start);
}

/* Sets 8 bytes that were written already. */
static void make_perf_patch(struct ux_out *out, size_t at, uint64_t v)
{
	if (out->swap)
		v = __builtin_bswap64(v);
	memcpy(out->data + at, &v, sizeof(v));
}

void make_perf_finish(struct ux_out *out, const struct make_perf_feature *features)
{
	uint64_t data_at = 0, bits[UX_PERF_FEATURES / 64] = {0};
	size_t n = 0;
	memcpy(&data_at, out->data + DATA_SIZE_AT - 8, sizeof(data_at));
	if (out->swap)
		data_at = __builtin_bswap64(data_at);
	make_perf_patch(out, DATA_SIZE_AT, out->size - data_at);
	for (; features[n].number != 0; n++)
		bits[features[n].number / 64] |= (uint64_t)1 << features[n].number % 64;
	for (size_t i = 0; i < ux_countof(bits); i++)
		make_perf_patch(out, FEATURES_AT + i * sizeof(bits[0]), bits[i]);
	uint64_t at = out->size + n * RANGE_BYTES;
	for (size_t i = 0; i < n; i++) {
		ux_out_u64(out, at);
		ux_out_u64(out, features[i].bytes.size);
		at += features[i].bytes.size;
	}
	for (size_t i = 0; i < n; i++)
		ux_out_put(out, features[i].bytes.data, features[i].bytes.size);
}
