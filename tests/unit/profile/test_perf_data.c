/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data: containers, events, order, damage. Processes and mappings are in test_perf_process.c.
 */
#include "sweep.h"

#include "make_perf.h"
#include "perf_data.h"
#include "perf_event.h"

#include <unistd.h>
#include <zstd.h>

enum {
	ID = 41, /* of the first event */
	PID = 100
};

#define CODE   UINT64_C(0x7f0000001000)
#define KERNEL UINT64_C(0xffffffff81000000)

static const char build_id[] = "0123456789abcdefghij";

static const struct make_perf_event clock_event = {
	.type = UX_PERF_TYPE_SOFTWARE,
	.period = 1000,
	.sample_type = MAKE_PERF_SAMPLE,
	.id = ID,
	.freq = true,
};

static struct make_perf_at at(uint32_t tid, uint64_t time)
{
	return (struct make_perf_at){.pid = PID, .tid = tid, .time = time, .id = ID};
}

/* A process with one library, and samples in it and in the kernel. */
static void put_records(struct ux_out *out)
{
	const uint64_t user[] = {UX_PERF_CONTEXT_USER, CODE + 0x10, CODE + 0x20, 0};
	const uint64_t both[] = {UX_PERF_CONTEXT_KERNEL, KERNEL + 5, KERNEL + 9,
				 UX_PERF_CONTEXT_USER,   CODE + 1,   0x666};
	make_perf_comm(out, at(PID, 0), "worker", false);
	make_perf_mmap(
		out, at(PID, 0),
		(struct make_perf_mapping){
			.start = CODE, .length = 0x1000, .offset = 0x4000, .path = "/lib/libx.so"});
	make_perf_sample(out, at(PID, 50), user, ux_countof(user));
	make_perf_sample(out, at(PID + 1, 60), both, ux_countof(both));
	make_perf_sample(out, at(PID, 70), user, ux_countof(user));
}

static void put_finish(struct ux_out *out)
{
	struct ux_out ids = {.swap = out->swap}, host = {.swap = out->swap};
	make_perf_id(&ids, UX_PERF_MODE_USER, build_id, 20, "/lib/libx.so");
	make_perf_id(&ids, UX_PERF_MODE_KERNEL, "\1\2\3\4\5\6\7\10\0\0\0\0\0\0\0\0\0\0\0\0", 0,
		     "[kernel.kallsyms]");
	ux_out_u32(&host, 8);
	ux_out_put(&host, "machine\0", 8);
	make_perf_finish(out, (const struct make_perf_feature[]){
				      {UX_PERF_FEATURE_BUILD_ID, ux_out_bytes(&ids)},
				      {UX_PERF_FEATURE_HOSTNAME, ux_out_bytes(&host)},
				      {0},
			      });
	ux_out_deinit(&ids);
	ux_out_deinit(&host);
}

static void write_file(struct ux_out *out, bool swap)
{
	*out = (struct ux_out){.swap = swap};
	make_perf_head(out, &clock_event, 1, false);
	put_records(out);
	put_finish(out);
	assert_false(out->failed);
}

static void read_bytes(struct ux_bytes bytes, struct ux_profile *p, struct ux_perf_summary *s)
{
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_profile_init(p, NULL), UX_OK);
	p->keep_times = true;
	enum ux_code code = ux_perf_data_read((struct ux_perf_source){bytes, -1}, p, s, &err);
	if (code != UX_OK)
		fail_msg("%s", err.text);
}

/* A text of all samples: time, comm, addresses with their module; "<" before return addresses. */
static const char *samples_text(const struct ux_profile *p, char *text, size_t size)
{
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < p->samples.size && n < size; i++) {
		const struct ux_profile_sample *s = &p->samples.data[i];
		n += (size_t)snprintf(text + n, size - n, "%s%" PRIu64 " %s", i > 0 ? "; " : "",
				      s->time_ns,
				      ux_profile_text(p, p->threads.data[s->thread].comm).data);
		for (uint32_t k = s->stack; k != 0 && n < size; k = p->stacks.data[k].caller) {
			const struct ux_profile_location *l =
				&p->locations.data[p->stacks.data[k].location];
			n += (size_t)snprintf(
				text + n, size - n, " %s%" PRIx64 "@%s", l->returns ? "<" : "",
				l->address,
				ux_profile_text(p, p->modules.data[l->module].path).data);
		}
	}
	return text;
}

enum {
	TEXT = 1024
};

static void expect_samples(const struct ux_profile *p, const char *expected)
{
	char text[TEXT];
	assert_string_equal(samples_text(p, text, sizeof(text)), expected);
}

static void expect_text(const struct ux_profile *p, uint32_t text, const char *expected)
{
	assert_string_equal((const char *)ux_profile_text(p, text).data, expected);
}

#define SAMPLES                                                                          \
	"50 worker 4010@/lib/libx.so <4020@/lib/libx.so; "                               \
	"60 :101 ffffffff81000005@[kernel.kallsyms] <ffffffff81000009@[kernel.kallsyms]" \
	" 4001@/lib/libx.so <666@; "                                                     \
	"70 worker 4010@/lib/libx.so <4020@/lib/libx.so"

static void expect_file(const struct ux_profile *p, const struct ux_perf_summary *s)
{
	char id[UX_ID_TEXT];
	expect_samples(p, SAMPLES);
	assert_int_equal(s->damage.code, UX_OK);
	assert_int_equal(s->samples, 3);
	assert_int_equal(s->unmapped, 1);
	assert_int_equal(p->n_types, 2);
	expect_text(p, p->types[0].name, "samples");
	expect_text(p, p->types[1].name, "cpu-clock");
	expect_text(p, p->types[1].unit, "nanoseconds");
	assert_int_equal(p->period, 1000000);
	assert_int_equal(ux_profile_sample_values(p, &p->samples.data[1])[1], 1000);
	assert_int_equal(p->duration_ns, 20);
	for (size_t i = 1; i < p->modules.size; i++) {
		bool kernel = p->modules.data[i].kind == UX_PROFILE_KERNEL;
		assert_string_equal(ux_id_format(&p->modules.data[i].id, id),
				    kernel ? "gnu:0102030405060708"
					   : "gnu:303132333435363738396162636465666768696a");
	}
}

static void a_file_has_its_samples_in_both_byte_orders(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct ux_out out;
		struct ux_profile p;
		struct ux_perf_summary s;
		write_file(&out, swap != 0);
		assert_true(ux_perf_data_is(ux_out_bytes(&out)));
		read_bytes(ux_out_bytes(&out), &p, &s);
		expect_file(&p, &s);
		assert_int_equal(s.swapped, swap);
		expect_text(&p, s.host, "machine");
		ux_profile_deinit(&p);
		ux_out_deinit(&out);
	}
}

static void features_of_a_machine_with_small_longs_are_found(void **state)
{
	(void)state;
	enum {
		FEATURES_AT = 72
	};
	struct ux_out out;
	struct ux_profile p;
	struct ux_perf_summary s;
	uint32_t words[2];
	write_file(&out, true);
	memcpy(words, out.data + FEATURES_AT, sizeof(words));
	memcpy(out.data + FEATURES_AT, &words[1], sizeof(words[1]));
	memcpy(out.data + FEATURES_AT + 4, &words[0], sizeof(words[0]));
	read_bytes(ux_out_bytes(&out), &p, &s);
	expect_file(&p, &s);
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

static void a_pipe_has_the_same_as_a_file(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct ux_out out = {.swap = swap != 0};
		struct ux_profile p;
		struct ux_perf_summary s;
		make_perf_head(&out, &clock_event, 1, true);
		size_t trace = make_perf_open(&out, UX_PERF_HEADER_TRACING_DATA, 0);
		ux_out_u32(&out, 13);
		make_perf_close(&out, trace);
		ux_out_put(&out, "thirteen bytes and 3 more", 16);
		make_perf_id(&out, 0, build_id, 0, "/lib/libx.so");
		make_perf_id(&out, 0, "\1\2\3\4\5\6\7\10\0\0\0\0\0\0\0\0\0\0\0\0", 8,
			     "[kernel.kallsyms]");
		put_records(&out);
		read_bytes(ux_out_bytes(&out), &p, &s);
		expect_file(&p, &s);
		assert_true(s.pipe);
		ux_profile_deinit(&p);
		ux_out_deinit(&out);
	}
}

static void bytes_come_from_a_descriptor_behind_the_head(void **state)
{
	(void)state;
	struct ux_out out;
	struct ux_profile p;
	struct ux_perf_summary s;
	int ends[2];
	write_file(&out, false);
	for (size_t head = 0; head < 300; head += 37) {
		assert_int_equal(pipe(ends), 0);
		assert_int_equal(write(ends[1], out.data + head, out.size - head),
				 (ssize_t)(out.size - head));
		close(ends[1]);
		assert_int_equal(ux_profile_init(&p, NULL), UX_OK);
		p.keep_times = true;
		assert_int_equal(ux_perf_data_read(
					 (struct ux_perf_source){ux_bytes(out.data, head), ends[0]},
					 &p, &s, NULL),
				 UX_OK);
		expect_file(&p, &s);
		close(ends[0]);
		ux_profile_deinit(&p);
	}
	ux_out_deinit(&out);
}

static void equal_samples_are_one_when_times_are_not_kept(void **state)
{
	(void)state;
	struct ux_out out;
	struct ux_profile p;
	struct ux_perf_summary s;
	write_file(&out, false);
	assert_int_equal(ux_profile_init(&p, NULL), UX_OK);
	assert_int_equal(
		ux_perf_data_read((struct ux_perf_source){ux_out_bytes(&out), -1}, &p, &s, NULL),
		UX_OK);
	assert_int_equal(p.samples.size, 2);
	assert_int_equal(ux_profile_sample_values(&p, &p.samples.data[0])[0], 2);
	assert_int_equal(ux_profile_sample_values(&p, &p.samples.data[0])[1], 2000);
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

/* --- events ----------------------------------------------------------------------------------- */

static void each_event_has_its_values(void **state)
{
	(void)state;
	const struct make_perf_event events[] = {
		{.type = UX_PERF_TYPE_HARDWARE, .sample_type = MAKE_PERF_SAMPLE, .id = 1},
		{.type = UX_PERF_TYPE_SOFTWARE,
		 .config = UX_PERF_SW_DUMMY,
		 .sample_type = MAKE_PERF_SAMPLE,
		 .id = 2},
		{.type = 4, .config = 0x1c2, .sample_type = MAKE_PERF_SAMPLE, .id = 3},
	};
	struct ux_out out = {0};
	struct ux_profile p;
	struct ux_perf_summary s;
	make_perf_head(&out, events, ux_countof(events), true);
	make_perf_sample(&out, (struct make_perf_at){1, 1, 10, 3}, NULL, 0);
	make_perf_sample(&out, (struct make_perf_at){1, 1, 20, 1}, NULL, 0);
	make_perf_sample(&out, (struct make_perf_at){1, 1, 30, 99}, NULL, 0); /* unknown */
	size_t name = make_perf_open(&out, UX_PERF_EVENT_UPDATE, 0);
	ux_out_u64(&out, 2);
	ux_out_u64(&out, 3);
	ux_out_put(&out, "uops_retired.all", 17);
	make_perf_close(&out, name);
	read_bytes(ux_out_bytes(&out), &p, &s);
	assert_int_equal(p.n_types, 4);
	expect_text(&p, p.types[0].name, "cycles_samples");
	expect_text(&p, p.types[1].name, "cycles");
	expect_text(&p, p.types[2].name, "uops_retired.all_samples");
	assert_int_equal(p.samples.size, 2);
	assert_int_equal(ux_profile_sample_values(&p, &p.samples.data[0])[0], 0);
	assert_int_equal(ux_profile_sample_values(&p, &p.samples.data[0])[3], 1000);
	assert_int_equal(ux_profile_sample_values(&p, &p.samples.data[1])[0], 1);
	assert_int_equal(s.damaged_records, 1);
	assert_string_equal(s.damage.text, "sample has an unknown event");
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

static void many_events_share_one_value(void **state)
{
	(void)state;
	struct make_perf_event events[9];
	struct ux_out out = {0};
	struct ux_profile p;
	struct ux_perf_summary s;
	for (size_t i = 0; i < ux_countof(events); i++)
		events[i] = (struct make_perf_event){
			.type = 2, .config = i, .sample_type = MAKE_PERF_SAMPLE, .id = i + 1};
	make_perf_head(&out, events, ux_countof(events), false);
	make_perf_sample(&out, (struct make_perf_at){1, 1, 10, 9}, NULL, 0);
	make_perf_finish(&out, (const struct make_perf_feature[]){{0}});
	read_bytes(ux_out_bytes(&out), &p, &s);
	assert_int_equal(p.n_types, 1);
	assert_int_equal(ux_profile_sample_values(&p, &p.samples.data[0])[0], 1);
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

/* Fields that the reader has to skip to reach the ones that it needs. */
static void fields_of_all_sizes_are_passed(void **state)
{
	(void)state;
	const struct make_perf_event event = {
		.type = UX_PERF_TYPE_HARDWARE,
		.sample_type = MAKE_PERF_SAMPLE | UX_PERF_SAMPLE_ADDR | UX_PERF_SAMPLE_ID |
			       UX_PERF_SAMPLE_STREAM_ID | UX_PERF_SAMPLE_CPU | UX_PERF_SAMPLE_READ |
			       UX_PERF_SAMPLE_RAW | UX_PERF_SAMPLE_BRANCH_STACK |
			       UX_PERF_SAMPLE_REGS_USER | UX_PERF_SAMPLE_STACK_USER,
		.read_format = UX_PERF_READ_GROUP | UX_PERF_READ_ENABLED | UX_PERF_READ_ID,
		.branch_type = UX_PERF_BRANCH_HW_INDEX | UX_PERF_BRANCH_COUNTERS,
		.registers = 0xff0fff,
		.id = ID,
	};
	enum {
		REGISTERS = 20,
		IP = 8
	};
	struct ux_out out = {0};
	struct ux_profile p;
	struct ux_perf_summary s;
	make_perf_head(&out, &event, 1, true);
	size_t start = make_perf_open(&out, UX_PERF_SAMPLE, UX_PERF_MODE_KERNEL);
	const uint64_t front[] = {ID, KERNEL, 0, 10, 0xadd, ID, 6, 0, 1234};
	for (size_t i = 0; i < ux_countof(front); i++)
		ux_out_u64(&out, front[i]);
	const uint64_t counters[] = {2, 111, 1, 1, 2, 2};
	for (size_t i = 0; i < ux_countof(counters); i++)
		ux_out_u64(&out, counters[i]);
	ux_out_u64(&out, 2);
	ux_out_u64(&out, UX_PERF_CONTEXT_KERNEL);
	ux_out_u64(&out, KERNEL + 7);
	ux_out_u32(&out, 12);
	ux_out_put(&out, "raw bytes 12", 12);
	ux_out_u64(&out, 2); /* branches, after their index; then their counters */
	for (size_t i = 0; i < 1 + 2 * 3 + 2; i++)
		ux_out_u64(&out, 0xb0 + i);
	ux_out_u64(&out, 2); /* registers of a 64-bit program */
	for (uint64_t i = 0; i < REGISTERS; i++)
		ux_out_u64(&out, i == IP ? 0x401234 : i);
	ux_out_u64(&out, 16);
	ux_out_put(&out, "16 bytes of it..", 16);
	ux_out_u64(&out, 16);
	make_perf_close(&out, start);
	read_bytes(ux_out_bytes(&out), &p, &s);
	expect_samples(&p, "10 swapper ffffffff81000007@[kernel.kallsyms] 401234@");
	assert_int_equal(s.not_unwound, 1);
	assert_int_equal(ux_profile_sample_values(&p, &p.samples.data[0])[1], 1234);
	assert_int_equal(s.damage.code, UX_OK);
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

static void a_stack_of_branches_has_the_callers(void **state)
{
	(void)state;
	const struct make_perf_event event = {
		.type = UX_PERF_TYPE_HARDWARE,
		.sample_type = MAKE_PERF_SAMPLE | UX_PERF_SAMPLE_BRANCH_STACK,
		.branch_type = UX_PERF_BRANCH_CALL_STACK,
		.id = ID,
	};
	const uint64_t words[] = {ID,   0x11,
				  0,    10,
				  1, /* period */
				  3,    UX_PERF_CONTEXT_USER,
				  0x11, 0x99,
				  2,    0x21,
				  0x11, 0,
				  0x31, 0x20,
				  0};
	struct ux_out out = {0};
	struct ux_profile p;
	struct ux_perf_summary s;
	make_perf_head(&out, &event, 1, true);
	size_t start = make_perf_open(&out, UX_PERF_SAMPLE, UX_PERF_MODE_USER);
	for (size_t i = 0; i < ux_countof(words); i++)
		ux_out_u64(&out, words[i]);
	make_perf_close(&out, start);
	read_bytes(ux_out_bytes(&out), &p, &s);
	expect_samples(&p, "10 swapper 11@ 21@ 31@");
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

/* --- order ------------------------------------------------------------------------------------ */

static void put_round(struct ux_out *out)
{
	make_perf_close(out, make_perf_open(out, UX_PERF_FINISHED_ROUND, 0));
}

static void put_empty(struct ux_out *out, uint64_t time)
{
	make_perf_sample(out, (struct make_perf_at){0, 0, time, ID}, NULL, 0);
}

static void samples_are_in_the_order_of_their_times(void **state)
{
	(void)state;
	const uint64_t times[] = {30, 50, 10, 40, 0, 60, 45, 55, 0, 52, 70, 0, 65};
	struct ux_out out = {0};
	struct ux_profile p;
	struct ux_perf_summary s;
	make_perf_head(&out, &clock_event, 1, true);
	for (size_t i = 0; i < ux_countof(times); i++)
		if (times[i] == 0)
			put_round(&out);
		else
			put_empty(&out, times[i]);
	read_bytes(ux_out_bytes(&out), &p, &s);
	uint64_t last = 0;
	assert_int_equal(p.samples.size, 10);
	for (size_t i = 0; i < p.samples.size; i++) {
		assert_true(p.samples.data[i].time_ns >= last);
		last = p.samples.data[i].time_ns;
	}
	assert_int_equal(s.late, 0);
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

/* A recording without the marks of rounds queues no more than the limit. */
static void what_waits_is_limited(void **state)
{
	(void)state;
	enum {
		SAMPLES_MANY = 600000
	};
	struct ux_out out = {0};
	struct ux_profile p;
	struct ux_perf_summary s;
	make_perf_head(&out, &clock_event, 1, true);
	for (uint64_t i = 0; i < SAMPLES_MANY; i++)
		put_empty(&out, i ^ 1);
	put_empty(&out, 1);
	assert_int_equal(ux_profile_init(&p, NULL), UX_OK);
	assert_int_equal(
		ux_perf_data_read((struct ux_perf_source){ux_out_bytes(&out), -1}, &p, &s, NULL),
		UX_OK);
	assert_int_equal(s.samples, SAMPLES_MANY + 1);
	assert_int_equal(s.late, 1);
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

/* --- other records ---------------------------------------------------------------------------- */

static void losses_and_unknown_records_are_counted(void **state)
{
	(void)state;
	struct ux_out out = {0};
	struct ux_profile p;
	struct ux_perf_summary s;
	make_perf_head(&out, &clock_event, 1, true);
	size_t lost = make_perf_open(&out, UX_PERF_LOST, 0);
	for (int i = 0; i < 5; i++) /* ID, how many, and when in three words */
		ux_out_u64(&out, i == 1 ? 17 : 0);
	make_perf_close(&out, lost);
	size_t samples = make_perf_open(&out, UX_PERF_LOST_SAMPLES, 0);
	for (int i = 0; i < 4; i++)
		ux_out_u64(&out, i == 0 ? 4 : 0);
	make_perf_close(&out, samples);
	make_perf_close(&out, make_perf_open(&out, 55, 0));
	make_perf_close(&out, make_perf_open(&out, 20, 0)); /* TEXT_POKE */
	size_t trace = make_perf_open(&out, UX_PERF_AUXTRACE, 0);
	for (int i = 0; i < 5; i++)
		ux_out_u64(&out, i == 0 ? 24 : 0);
	make_perf_close(&out, trace);
	ux_out_put(&out, "24 bytes of no records!!", 24);
	put_empty(&out, 5);
	read_bytes(ux_out_bytes(&out), &p, &s);
	assert_int_equal(s.lost_records, 17);
	assert_int_equal(s.lost_samples, 4);
	assert_int_equal(s.unknown_records, 1);
	assert_int_equal(s.unknown_type, 55);
	assert_int_equal(s.auxtrace_bytes, 24);
	assert_int_equal(s.samples, 1);
	assert_int_equal(s.damage.code, UX_OK);
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

/* The records as one stream of zstd, cut where no record ends. */
static void put_compressed(struct ux_out *out, uint32_t type)
{
	struct ux_out plain = {.swap = out->swap};
	put_records(&plain);
	ZSTD_CStream *z = ZSTD_createCStream();
	assert_non_null(z);
	ZSTD_initCStream(z, 3);
	for (size_t done = 0; done < plain.size;) {
		uint8_t bytes[512];
		size_t part = ux_min(plain.size - done, (size_t)50);
		ZSTD_inBuffer in = {plain.data + done, part, 0};
		ZSTD_outBuffer room = {bytes, sizeof(bytes), 0};
		assert_false(ZSTD_isError(ZSTD_compressStream(z, &room, &in)));
		assert_int_equal(ZSTD_flushStream(z, &room), 0);
		make_perf_compressed(out, type, ux_bytes(bytes, room.pos));
		done += part;
	}
	ZSTD_freeCStream(z);
	ux_out_deinit(&plain);
}

static void compressed_records_are_read(void **state)
{
	(void)state;
	const uint32_t types[] = {UX_PERF_COMPRESSED, UX_PERF_COMPRESSED2};
	for (size_t i = 0; i < 4; i++) {
		struct ux_out out = {.swap = i >= 2};
		struct ux_profile p;
		struct ux_perf_summary s;
		make_perf_head(&out, &clock_event, 1, false);
		put_compressed(&out, types[i % 2]);
		put_finish(&out);
		read_bytes(ux_out_bytes(&out), &p, &s);
		expect_file(&p, &s);
		ux_profile_deinit(&p);
		ux_out_deinit(&out);
	}
}

static void damage_in_compressed_records_is_reported(void **state)
{
	(void)state;
	struct ux_out out = {0};
	struct ux_profile p;
	struct ux_perf_summary s;
	make_perf_head(&out, &clock_event, 1, true);
	uint64_t off = out.size;
	make_perf_compressed(&out, UX_PERF_COMPRESSED, UX_STR("this is not zstd"));
	make_perf_compressed(&out, UX_PERF_COMPRESSED, UX_STR("nor this"));
	put_empty(&out, 5);
	read_bytes(ux_out_bytes(&out), &p, &s);
	assert_int_equal(s.samples, 1);
	assert_int_equal(s.damaged_records, 2);
	assert_int_equal(s.damage.off, off);
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

/* --- damage ----------------------------------------------------------------------------------- */

static void a_recording_that_was_not_finished_is_read(void **state)
{
	(void)state;
	struct ux_out out = {0};
	struct ux_profile p;
	struct ux_perf_summary s;
	make_perf_head(&out, &clock_event, 1, false);
	put_records(&out);
	read_bytes(ux_out_bytes(&out), &p, &s);
	expect_samples(&p, SAMPLES);
	assert_true(s.truncated);
	assert_string_equal(s.damage.text, "perf did not finish the recording");
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

/* A prefix has at most one sample more than the previous prefix. */
static void sweep_prefix(struct ux_bytes input, void *ctx)
{
	uint64_t *last = ctx;
	struct ux_profile p;
	struct ux_perf_summary s;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_profile_init(&p, NULL), UX_OK);
	enum ux_code code = ux_perf_data_read((struct ux_perf_source){input, -1}, &p, &s, &err);
	assert_int_equal(code, err.code);
	if (code == UX_OK) {
		assert_true(s.samples >= *last && s.samples <= *last + 1);
		assert_true(s.damage.code == UX_OK || s.damage.off <= input.size);
		*last = s.samples;
	} else {
		assert_int_equal(*last, 0);
	}
	ux_profile_deinit(&p);
}

static void every_prefix_keeps_what_is_complete(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct ux_out out;
		uint64_t last = 0;
		write_file(&out, swap != 0);
		each_prefix(ux_out_bytes(&out), sweep_prefix, &last);
		assert_int_equal(last, 3);
		ux_out_reset(&out);
		last = 0;
		make_perf_head(&out, &clock_event, 1, true);
		put_compressed(&out, UX_PERF_COMPRESSED2);
		each_prefix(ux_out_bytes(&out), sweep_prefix, &last);
		assert_int_equal(last, 3);
		ux_out_deinit(&out);
	}
}

/* Returns the most samples that an input may contain: records inside another one whose size is
 * wrong. */
static uint64_t max_samples(struct ux_bytes input)
{
	return 2 * input.size / UX_PERF_RECORD_HEAD;
}

static void sweep_damaged(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	struct ux_profile p;
	struct ux_perf_summary s;
	assert_int_equal(ux_profile_init(&p, NULL), UX_OK);
	if (ux_perf_data_read((struct ux_perf_source){input, -1}, &p, &s, NULL) == UX_OK) {
		assert_true(s.samples <= max_samples(input));
		assert_true(s.damage.code == UX_OK || s.damage.off <= input.size);
	}
	ux_profile_deinit(&p);
}

static void every_damage_is_survived(void **state)
{
	(void)state;
	struct ux_out out;
	write_file(&out, false);
	each_bit_flip(ux_out_bytes(&out), sweep_damaged, NULL);
	each_byte_extreme(ux_out_bytes(&out), sweep_damaged, NULL);
	ux_out_reset(&out);
	make_perf_head(&out, &clock_event, 1, true);
	put_compressed(&out, UX_PERF_COMPRESSED);
	each_bit_flip(ux_out_bytes(&out), sweep_damaged, NULL);
	ux_out_deinit(&out);
}

static enum ux_code read_once(void *ctx)
{
	struct ux_profile p = {0};
	struct ux_perf_summary s;
	enum ux_code code = ux_profile_init(&p, NULL);
	if (code == UX_OK)
		code = ux_perf_data_read((struct ux_perf_source){ux_out_bytes(ctx), -1}, &p, &s,
					 NULL);
	ux_profile_deinit(&p);
	return code;
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	struct ux_out out;
	write_file(&out, false);
	assert_true(each_failed_alloc(read_once, &out, false) > 20);
	ux_out_deinit(&out);
}

static void what_is_no_recording_is_refused(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_profile p;
	struct ux_perf_summary s;
	assert_int_equal(ux_profile_init(&p, NULL), UX_OK);
	assert_false(ux_perf_data_is(UX_STR("PERFFILE")));
	assert_false(ux_perf_data_is(UX_STR("PERFI")));
	assert_int_equal(ux_perf_data_read((struct ux_perf_source){UX_STR("PERFFILE12345678"), -1},
					   &p, &s, &err),
			 UX_ECORRUPT);
	assert_int_equal(err.off, 0);
	ux_profile_deinit(&p);
}

/* Two mapped files without a build ID at one path, and a table of IDs of files. */
static void write_file_ids(struct ux_out *out, bool swap, const char *const texts[2])
{
	ux_cleanup(ux_out_deinit) struct ux_out ids = {.swap = swap};
	*out = (struct ux_out){.swap = swap};
	make_perf_head(out, &clock_event, 1, false);
	for (uint32_t i = 0; i < 2; i++) {
		make_perf_mmap(out, at(PID, i),
			       (struct make_perf_mapping){.start = CODE + 0x1000 * i,
							  .length = 0x1000,
							  .path = "/app/service",
							  .ino = 20 + i});
		make_perf_inode(&ids, 20 + i);
		ux_out_cstr(&ids, texts[i]);
		do
			ux_out_u8(&ids, 0);
		while (ids.size % 8 != 0);
	}
	make_perf_finish(out, (const struct make_perf_feature[]){
				      {UX_PERF_FEATURE_FILE_IDS, ux_out_bytes(&ids)}, {0}});
	assert_false(out->failed);
}

static void files_without_a_build_id_have_that_of_their_inode(void **state)
{
	(void)state;
	static const char *const texts[] = {"go:one/two", "file:0123456789abcdef0123456789abcdef"};
	for (int swap = 0; swap < 2; swap++) {
		struct ux_out out;
		struct ux_profile p;
		struct ux_perf_summary s;
		write_file_ids(&out, swap, texts);
		read_bytes(ux_out_bytes(&out), &p, &s);
		assert_int_equal(p.modules.size, 3);
		for (size_t i = 0; i < 2; i++) {
			char id[UX_ID_TEXT];
			assert_string_equal(ux_id_format(&p.modules.data[1 + i].id, id), texts[i]);
		}
		ux_profile_deinit(&p);
		ux_out_deinit(&out);
	}
}

static void a_damaged_id_of_a_file_is_reported(void **state)
{
	(void)state;
	struct ux_out out;
	struct ux_profile p;
	struct ux_perf_summary s;
	write_file_ids(&out, false, (const char *const[]){"file:01", "gnu:0102"});
	read_bytes(ux_out_bytes(&out), &p, &s);
	assert_int_equal(p.modules.size, 3);
	assert_int_equal(p.modules.data[1].id.size, 0);
	assert_non_null(strstr(s.damage.text, "file:01"));
	ux_profile_deinit(&p);
	ux_out_deinit(&out);
}

UX_SUITE(perf_data)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_file_has_its_samples_in_both_byte_orders),
		UX_TEST(files_without_a_build_id_have_that_of_their_inode),
		UX_TEST(a_damaged_id_of_a_file_is_reported),
		UX_TEST(features_of_a_machine_with_small_longs_are_found),
		UX_TEST(a_pipe_has_the_same_as_a_file),
		UX_TEST(bytes_come_from_a_descriptor_behind_the_head),
		UX_TEST(equal_samples_are_one_when_times_are_not_kept),
		UX_TEST(each_event_has_its_values),
		UX_TEST(many_events_share_one_value),
		UX_TEST(fields_of_all_sizes_are_passed),
		UX_TEST(a_stack_of_branches_has_the_callers),
		UX_TEST(samples_are_in_the_order_of_their_times),
		UX_TEST(what_waits_is_limited),
		UX_TEST(losses_and_unknown_records_are_counted),
		UX_TEST(compressed_records_are_read),
		UX_TEST(damage_in_compressed_records_is_reported),
		UX_TEST(a_recording_that_was_not_finished_is_read),
		UX_TEST(every_prefix_keeps_what_is_complete),
		UX_TEST(every_damage_is_survived),
		UX_TEST(every_failed_allocation_is_reported),
		UX_TEST(what_is_no_recording_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
