/* SPDX-License-Identifier: Apache-2.0 */
/* Reads attrs and samples. */
#include "perf_event.h"

#define SECTION_ATTR   "perf_event_attr"
#define SECTION_SAMPLE "sample"

enum {
	WORD = 8,      /* bytes of most fields */
	CLOCK_AT = 92, /* offset of clockid in an attr, 4 bytes */
	CLOCK_BYTES = 4,
	BRANCH_BYTES = 24 /* bytes of an entry of a branch stack */
};

/* --- attrs ------------------------------------------------------------------------------------ */

static uint64_t perf_reverse_bits(uint64_t v)
{
	uint64_t r = 0;
	for (unsigned i = 0; i < 64; i++)
		r |= (v >> i & 1) << (63 - i);
	return r;
}

/* Returns the clock of an event's times; -1: a clock that the recording does not name. */
static int32_t perf_attr_clock(struct ux_bytes bytes, const struct ux_perf_attr *attr, bool swap)
{
	struct ux_bytes field;
	if ((attr->flags >> UX_PERF_ATTR_USE_CLOCKID & 1) == 0 ||
	    CLOCK_AT + CLOCK_BYTES > attr->size ||
	    !ux_bytes_sub(bytes, CLOCK_AT, CLOCK_BYTES, &field))
		return -1;
	struct ux_cur c = ux_cur_make(field, SECTION_ATTR, swap);
	return (int32_t)ux_cur_u32(&c);
}

enum ux_code ux_perf_attr_parse(struct ux_bytes bytes, bool swap, struct ux_perf_attr *ret,
				struct ux_error *err)
{
	/* Whether the recorded machine counts the bits of a field from the highest one. */
	bool big = swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	struct ux_cur c = ux_cur_make(bytes, SECTION_ATTR, swap);
	*ret = (struct ux_perf_attr){0};
	ret->type = ux_cur_u32(&c);
	ret->size = ux_cur_u32(&c);
	if (ret->size == 0)
		ret->size = UX_PERF_ATTR_MIN;
	if (ret->size < UX_PERF_ATTR_MIN)
		ux_cur_bad(&c, "size is smaller than that of any version");
	ret->config = ux_cur_u64(&c);
	ret->period = ux_cur_u64(&c);
	ret->sample_type = ux_cur_u64(&c);
	ret->read_format = ux_cur_u64(&c);
	uint64_t flags = ux_cur_u64(&c);
	ret->flags = big ? perf_reverse_bits(flags) : flags;
	ux_cur_skip(&c, 2 * WORD); /* wakeup, breakpoint type, config1 */
	UX_TRY(ux_cur_status(&c, err));
	struct {
		uint32_t at;
		uint64_t *field;
	} const later[] = {{72, &ret->branch_type}, {80, &ret->registers}};
	for (size_t i = 0; i < ux_countof(later); i++) {
		struct ux_bytes field;
		if (later[i].at + WORD > ret->size ||
		    !ux_bytes_sub(bytes, later[i].at, WORD, &field))
			continue;
		struct ux_cur f = ux_cur_make(field, SECTION_ATTR, swap);
		*later[i].field = ux_cur_u64(&f);
	}
	ret->clock = perf_attr_clock(bytes, ret, swap);
	return UX_OK;
}

/* --- events ----------------------------------------------------------------------------------- */

/* Returns how many bytes the fields in `mask` with a fixed size take. */
static uint32_t perf_words(uint64_t sample_type, uint64_t mask)
{
	return WORD * (uint32_t)__builtin_popcountll(sample_type & mask);
}

/* Sets the place of the ID in all records. perf writes recordings in which all events agree on it.
 */
static void perf_events_place_id(struct ux_perf_events *e, uint64_t type)
{
	if ((type & UX_PERF_SAMPLE_IDENTIFIER) != 0) {
		e->id_at = UX_PERF_RECORD_HEAD;
		e->id_tail = WORD;
	} else if ((type & UX_PERF_SAMPLE_ID) != 0) {
		e->id_at = UX_PERF_RECORD_HEAD +
			   perf_words(type, UX_PERF_SAMPLE_IP | UX_PERF_SAMPLE_TID |
						    UX_PERF_SAMPLE_TIME | UX_PERF_SAMPLE_ADDR);
		e->id_tail = WORD + perf_words(type, UX_PERF_SAMPLE_STREAM_ID | UX_PERF_SAMPLE_CPU);
	}
}

enum ux_code ux_perf_events_add(struct ux_perf_events *e, const struct ux_perf_attr *attr,
				struct ux_error *err)
{
	struct ux_perf_event event = {.attr = *attr, .period = attr->period};
	uint64_t type = attr->sample_type;
	if (e->list.size >= UX_PERF_EVENTS_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d events", UX_PERF_EVENTS_MAX);
	if ((attr->flags >> UX_PERF_ATTR_FREQ & 1) != 0) {
		const uint64_t second = 1000000000;
		bool clock = attr->type == UX_PERF_TYPE_SOFTWARE &&
			     attr->config <= UX_PERF_SW_TASK_CLOCK;
		event.period = clock && attr->period > 0 ? second / attr->period : 1;
	}
	if ((type & UX_PERF_SAMPLE_TIME) != 0) {
		event.time_at = UX_PERF_RECORD_HEAD + perf_words(type, UX_PERF_SAMPLE_IDENTIFIER |
									       UX_PERF_SAMPLE_IP |
									       UX_PERF_SAMPLE_TID);
		if ((attr->flags >> UX_PERF_ATTR_SAMPLE_ID_ALL & 1) != 0)
			event.time_tail =
				WORD + perf_words(type, UX_PERF_SAMPLE_ID |
								UX_PERF_SAMPLE_STREAM_ID |
								UX_PERF_SAMPLE_CPU |
								UX_PERF_SAMPLE_IDENTIFIER);
	}
	if (e->list.size == 0)
		perf_events_place_id(e, type);
	return ux_perf_event_list_append(&e->list, event) ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_perf_events_add_id(struct ux_perf_events *e, uint64_t id, struct ux_error *err)
{
	bool fresh = false;
	uint32_t *slot = ux_profile_numbers_insert(&e->by_id, id, &fresh);
	if (!slot)
		return ux_error_nomem(err);
	if (fresh)
		*slot = (uint32_t)(e->list.size - 1);
	return UX_OK;
}

void ux_perf_events_deinit(struct ux_perf_events *e)
{
	ux_perf_event_list_deinit(&e->list);
	ux_profile_numbers_deinit(&e->by_id);
}

/* Reads the word at an offset of the record. False: the record is shorter. */
static bool perf_record_word(const struct ux_perf_record *record, uint64_t off, bool swap,
			     uint64_t *ret)
{
	struct ux_bytes word;
	if (!ux_bytes_sub(record->bytes, off, WORD, &word))
		return false;
	struct ux_cur c = ux_cur_make(word, NULL, swap);
	*ret = ux_cur_u64(&c);
	return true;
}

const struct ux_perf_event *ux_perf_events_find(const struct ux_perf_events *e,
						const struct ux_perf_record *record, bool swap,
						uint64_t *ret_time)
{
	bool sample = record->type == UX_PERF_SAMPLE;
	size_t size = record->bytes.size;
	*ret_time = 0;
	if (e->list.size == 0)
		return NULL;
	uint32_t index = 0;
	if (e->list.size > 1 && e->id_at != 0) {
		uint64_t id = 0;
		uint64_t off = sample ? e->id_at : size - ux_min((size_t)e->id_tail, size);
		const uint32_t *known = perf_record_word(record, off, swap, &id)
						? ux_profile_numbers_find(&e->by_id, id)
						: NULL;
		if (known)
			index = *known;
		else if (sample)
			return NULL; /* other records may be perf's own, with an ID of 0 */
	}
	const struct ux_perf_event *event = &e->list.data[index];
	if (sample && event->time_at != 0)
		(void)perf_record_word(record, event->time_at, swap, ret_time);
	else if (!sample && event->time_tail != 0 &&
		 size >= UX_PERF_RECORD_HEAD + (size_t)event->time_tail)
		(void)perf_record_word(record, size - event->time_tail, swap, ret_time);
	return event;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Skips the counters of a sample, which belong to one event or to a group. */
static void perf_skip_read(struct ux_cur *c, uint64_t format)
{
	uint64_t times =
		(format & UX_PERF_READ_ENABLED ? 1 : 0) + (format & UX_PERF_READ_RUNNING ? 1 : 0);
	uint64_t each =
		1 + (format & UX_PERF_READ_ID ? 1 : 0) + (format & UX_PERF_READ_LOST ? 1 : 0);
	uint64_t n = (format & UX_PERF_READ_GROUP) != 0 ? ux_cur_u64(c) : 1;
	if (n > ux_cur_left(c) / WORD)
		ux_cur_bad(c, "more counters than the record has room for");
	ux_cur_skip(c, (times + n * each) * WORD);
}

/* Returns the next n entries of `size` bytes. */
static struct ux_bytes perf_take_array(struct ux_cur *c, uint64_t n, size_t size, const char *what)
{
	if (n > ux_cur_left(c) / size) {
		ux_cur_bad(c, what);
		return UX_BYTES_NONE;
	}
	return ux_cur_take(c, n * size);
}

int ux_perf_ip_register(uint64_t mask)
{
	const uint64_t x86_64 = 0xff0fff;
	const uint64_t arm64 = 0x1ffffffff;
	if (mask == x86_64)
		return UX_PERF_X86_64_IP;
	return (mask & arm64) == arm64 ? UX_PERF_ARM64_PC : -1;
}

static void perf_parse_registers(struct ux_cur *c, uint64_t mask, struct ux_perf_sample *ret)
{
	uint64_t abi = ux_cur_u64(c);
	if (abi == 0)
		return; /* a thread of the kernel, which has no user registers */
	struct ux_bytes values = ux_cur_take(c, WORD * (uint64_t)__builtin_popcountll(mask));
	int bit = ux_perf_ip_register(mask);
	if (bit < 0 || values.size == 0)
		return;
	struct ux_cur ip = ux_cur_make(values, SECTION_SAMPLE, c->swap);
	ux_cur_skip(&ip, WORD * (uint64_t)__builtin_popcountll(mask & (((uint64_t)1 << bit) - 1)));
	ret->user_ip = ux_cur_u64(&ip);
	ret->registers = values;
	ret->registers32 = abi == UX_PERF_ABI_32;
}

/* Reads the fields after the period. */
static void perf_parse_arrays(struct ux_cur *c, const struct ux_perf_attr *attr,
			      struct ux_perf_sample *ret)
{
	uint64_t type = attr->sample_type;
	if ((type & UX_PERF_SAMPLE_READ) != 0)
		perf_skip_read(c, attr->read_format);
	if ((type & UX_PERF_SAMPLE_CALLCHAIN) != 0)
		ret->chain = perf_take_array(c, ux_cur_u64(c), WORD,
					     "callchain is longer than its record");
	if ((type & UX_PERF_SAMPLE_RAW) != 0)
		ux_cur_skip(c, ux_cur_u32(c));
	if ((type & UX_PERF_SAMPLE_BRANCH_STACK) != 0) {
		uint64_t n = ux_cur_u64(c);
		if ((attr->branch_type & UX_PERF_BRANCH_HW_INDEX) != 0)
			ux_cur_skip(c, WORD);
		ret->branches = perf_take_array(c, n, BRANCH_BYTES,
						"branch stack is longer than its record");
		if ((attr->branch_type & UX_PERF_BRANCH_COUNTERS) != 0)
			(void)perf_take_array(c, n, WORD, "branch counters exceed their record");
	}
	if ((type & UX_PERF_SAMPLE_REGS_USER) != 0)
		perf_parse_registers(c, attr->registers, ret);
	if ((type & UX_PERF_SAMPLE_STACK_USER) != 0) {
		struct ux_bytes room = ux_cur_take(c, ux_cur_u64(c));
		/* The size of the filled part follows the room. */
		uint64_t size = room.size > 0 ? ux_cur_u64(c) : 0;
		ret->has_stack = room.size > 0;
		ret->stack = ux_bytes(room.data, (size_t)ux_min(size, (uint64_t)room.size));
	}
}

enum ux_code ux_perf_sample_parse(const struct ux_perf_event *event,
				  const struct ux_perf_record *record, bool swap,
				  struct ux_perf_sample *ret, struct ux_error *err)
{
	uint64_t type = event->attr.sample_type;
	struct ux_cur c = ux_cur_make(record->bytes, SECTION_SAMPLE, swap);
	*ret = (struct ux_perf_sample){.period = event->period};
	ux_cur_skip(&c, UX_PERF_RECORD_HEAD + perf_words(type, UX_PERF_SAMPLE_IDENTIFIER));
	if ((type & UX_PERF_SAMPLE_IP) != 0)
		ret->ip = ux_cur_u64(&c);
	if ((type & UX_PERF_SAMPLE_TID) != 0) {
		ret->pid = ux_cur_u32(&c);
		ret->tid = ux_cur_u32(&c);
	}
	if ((type & UX_PERF_SAMPLE_TIME) != 0)
		ret->time = ux_cur_u64(&c);
	ux_cur_skip(&c, perf_words(type, UX_PERF_SAMPLE_ADDR | UX_PERF_SAMPLE_ID |
						 UX_PERF_SAMPLE_STREAM_ID | UX_PERF_SAMPLE_CPU));
	if ((type & UX_PERF_SAMPLE_PERIOD) != 0)
		ret->period = ux_cur_u64(&c);
	perf_parse_arrays(&c, &event->attr, ret);
	return ux_cur_status(&c, err);
}
