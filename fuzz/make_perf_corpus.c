/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of perf.data. */
#include "make_corpus.h"

#include "make_perf.h"

#include <zstd.h>

enum {
	ID = 9
};

#define KERNEL UINT64_C(0xffffffff81000000)

static struct make_perf_at at(uint32_t pid, uint32_t tid, uint64_t time)
{
	return (struct make_perf_at){pid, tid, time, ID};
}

/* Processes that start, fork, execute and end, in rounds of two processors. */
static void put_records(struct ux_out *out)
{
	const uint64_t chain[] = {
		UX_PERF_CONTEXT_KERNEL, KERNEL + 5, UX_PERF_CONTEXT_USER, 0x1010, 0x1020, 0};
	make_perf_mmap(out, at(UINT32_MAX, 0, 0),
		       (struct make_perf_mapping){.start = KERNEL,
						  .length = 0x1000000,
						  .offset = KERNEL,
						  .path = "[kernel.kallsyms]_text",
						  .misc = UX_PERF_MODE_KERNEL});
	make_perf_comm(out, at(1, 1, 0), "init", false);
	make_perf_mmap(out, at(1, 1, 0),
		       (struct make_perf_mapping){.start = 0x1000,
						  .length = 0x1000,
						  .path = "/bin/a",
						  .id = "twenty bytes of ids."});
	make_perf_sample(out, at(1, 1, 30), chain, 6);
	make_perf_fork(out, at(2, 2, 20), 1);
	make_perf_close(out, make_perf_open(out, UX_PERF_FINISHED_ROUND, 0));
	make_perf_sample(out, at(2, 2, 40), chain + 2, 3);
	make_perf_comm(out, at(2, 2, 35), "child", true);
	make_perf_mmap(out, at(2, 2, 36),
		       (struct make_perf_mapping){.start = 0x1000, .length = 64, .path = "//anon"});
	make_perf_ksymbol(out, at(0, 0, 37), KERNEL, 64, "bpf_prog_1", false);
	make_perf_close(out, make_perf_open(out, UX_PERF_FINISHED_ROUND, 0));
	make_perf_sample(out, at(2, 2, 50), chain, 6);
	make_perf_exit(out, at(2, 2, 51));
}

static void save_file(const char *name, bool swap, bool pipe)
{
	static const struct make_perf_event events[] = {
		{.type = UX_PERF_TYPE_SOFTWARE, .sample_type = MAKE_PERF_SAMPLE, .id = ID},
		{.type = UX_PERF_TYPE_HARDWARE, .sample_type = MAKE_PERF_SAMPLE, .id = 10},
	};
	ux_cleanup(ux_out_deinit) struct ux_out out = {.swap = swap};
	ux_cleanup(ux_out_deinit) struct ux_out ids = {.swap = swap};
	ux_cleanup(ux_out_deinit) struct ux_out file_ids = {.swap = swap};
	make_perf_head(&out, events, 2, pipe);
	put_records(&out);
	make_perf_id(pipe ? &out : &ids, UX_PERF_MODE_USER, "twenty bytes of ids!", 16, "/bin/a");
	make_perf_inode(&file_ids, 7);
	ux_out_put(&file_ids, "go:a/b\0", 8);
	if (!pipe)
		make_perf_finish(&out, (const struct make_perf_feature[]){
					       {UX_PERF_FEATURE_BUILD_ID, ux_out_bytes(&ids)},
					       {UX_PERF_FEATURE_FILE_IDS, ux_out_bytes(&file_ids)},
					       {0}});
	save_seed("perf_data", name, ux_out_bytes(&out));
}

/* Fields that a sample may have beside its callchain. */
static void save_wide_samples(void)
{
	const struct make_perf_event event = {
		.type = UX_PERF_TYPE_HARDWARE,
		.sample_type = MAKE_PERF_SAMPLE | UX_PERF_SAMPLE_READ | UX_PERF_SAMPLE_RAW |
			       UX_PERF_SAMPLE_BRANCH_STACK | UX_PERF_SAMPLE_REGS_USER |
			       UX_PERF_SAMPLE_STACK_USER,
		.read_format = UX_PERF_READ_GROUP | UX_PERF_READ_ID,
		.branch_type = UX_PERF_BRANCH_CALL_STACK | UX_PERF_BRANCH_HW_INDEX,
		.registers = 0x1ffffffff,
		.id = ID,
	};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_perf_head(&out, &event, 1, true);
	size_t start = make_perf_open(&out, UX_PERF_SAMPLE, UX_PERF_MODE_KERNEL);
	const uint64_t words[] = {ID, KERNEL,        3,  10, 1, /* counters */ 1, 7,
				  ID, /* chain */ 1, 0x8};
	for (size_t i = 0; i < ux_countof(words); i++)
		ux_out_u64(&out, words[i]);
	ux_out_u32(&out, 4);
	ux_out_u32(&out, 0);
	const uint64_t branches[] = {1, 0, 0x21, 0x11, 0, /* registers */ 2};
	for (size_t i = 0; i < ux_countof(branches); i++)
		ux_out_u64(&out, branches[i]);
	for (uint64_t i = 0; i < 33; i++)
		ux_out_u64(&out, i);
	ux_out_u64(&out, 0);
	make_perf_close(&out, start);
	save_seed("perf_data", "wide_samples", ux_out_bytes(&out));
}

static void save_compressed(void)
{
	const struct make_perf_event event = {.sample_type = MAKE_PERF_SAMPLE, .id = ID};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_out_deinit) struct ux_out plain = {0};
	uint8_t packed[4096];
	make_perf_head(&out, &event, 1, true);
	put_records(&plain);
	size_t n = ZSTD_compress(packed, sizeof(packed), plain.data, plain.size, 3);
	make_perf_compressed(&out, UX_PERF_COMPRESSED2, ux_bytes(packed, n / 2));
	make_perf_compressed(&out, UX_PERF_COMPRESSED, ux_bytes(packed + n / 2, n - n / 2));
	save_seed("perf_data", "compressed", ux_out_bytes(&out));
}

void make_perf_corpus(void)
{
	save_file("file", false, false);
	save_file("file_of_the_other_byte_order", true, false);
	save_file("pipe", false, true);
	save_wide_samples();
	save_compressed();
}
