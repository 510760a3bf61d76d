/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data: mappings of processes and of the kernel, over time. */
#include "sweep.h"

#include "make_perf.h"
#include "perf_data.h"
#include "perf_space.h"

enum {
	ID = 41,
	PID = 100
};

static const struct make_perf_event one_event = {
	.type = UX_PERF_TYPE_HARDWARE,
	.sample_type = MAKE_PERF_SAMPLE,
	.id = ID,
};

/* A recording that a test writes record by record; each happens a little later. */
struct recording {
	struct ux_out out;
	uint64_t time;
	struct ux_profile p;
	struct ux_perf_summary s;
};

static void start(struct recording *r)
{
	*r = (struct recording){0};
	make_perf_head(&r->out, &one_event, 1, true);
}

static struct make_perf_at next(struct recording *r, uint32_t pid, uint32_t tid)
{
	return (struct make_perf_at){.pid = pid, .tid = tid, .time = ++r->time, .id = ID};
}

static void map(struct recording *r, uint32_t pid, uint64_t address, uint64_t length,
		const char *path)
{
	make_perf_mmap(&r->out, next(r, pid, pid),
		       (struct make_perf_mapping){
			       .start = address, .length = length, .offset = 0x10, .path = path});
}

/* Adds a sample whose leaf is at an address of user mode. */
static void sample(struct recording *r, uint32_t pid, uint32_t tid, uint64_t address)
{
	const uint64_t chain[] = {UX_PERF_CONTEXT_USER, address};
	make_perf_sample(&r->out, next(r, pid, tid), chain, ux_countof(chain));
}

static void sample_kernel(struct recording *r, uint64_t address)
{
	const uint64_t chain[] = {UX_PERF_CONTEXT_KERNEL, address};
	make_perf_sample(&r->out, next(r, PID, PID), chain, ux_countof(chain));
}

/* Reads the recording, and compares the leaves: "comm address@module; ...". */
static void expect(struct recording *r, const char *expected)
{
	char text[1024] = "";
	size_t n = 0;
	struct ux_profile *p = &r->p;
	assert_int_equal(ux_profile_init(p, NULL), UX_OK);
	p->keep_times = true;
	assert_int_equal(ux_perf_data_read((struct ux_perf_source){ux_out_bytes(&r->out), -1}, p,
					   &r->s, NULL),
			 UX_OK);
	assert_int_equal(r->s.damage.code, UX_OK);
	for (size_t i = 0; i < p->samples.size && n < sizeof(text); i++) {
		const struct ux_profile_sample *s = &p->samples.data[i];
		const struct ux_profile_location *l =
			&p->locations.data[p->stacks.data[s->stack].location];
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "%s%s %" PRIx64 "@%s", i > 0 ? "; " : "",
			ux_profile_text(p, p->threads.data[s->thread].comm).data, l->address,
			ux_profile_text(p, p->modules.data[l->module].path).data);
	}
	assert_string_equal(text, expected);
}

static void finish(struct recording *r)
{
	ux_profile_deinit(&r->p);
	ux_out_deinit(&r->out);
}

/* --- processes -------------------------------------------------------------------------------- */

static void a_fork_inherits_and_then_goes_its_own_way(void **state)
{
	(void)state;
	struct recording r;
	start(&r);
	make_perf_comm(&r.out, next(&r, PID, PID), "parent", false);
	map(&r, PID, 0x1000, 0x1000, "/a");
	make_perf_fork(&r.out, next(&r, 200, 200), PID);
	sample(&r, 200, 200, 0x1000);
	map(&r, 200, 0x5000, 0x1000, "/child");
	sample(&r, 200, 200, 0x5004);
	sample(&r, PID, PID, 0x5004);
	map(&r, PID, 0x1000, 0x1000, "/b");
	sample(&r, 200, 200, 0x1008);
	sample(&r, PID, PID, 0x1008);
	expect(&r, "parent 10@/a; parent 14@/child; parent 5004@; parent 18@/a; parent 18@/b");
	finish(&r);
}

static void an_exec_clears_and_names(void **state)
{
	(void)state;
	struct recording r;
	start(&r);
	map(&r, PID, 0x1000, 0x1000, "/old");
	sample(&r, PID, PID, 0x1000);
	make_perf_comm(&r.out, next(&r, PID, PID), "new", true);
	sample(&r, PID, PID, 0x1004); /* still in the system call */
	map(&r, PID, 0x7000, 0x1000, "/new");
	sample(&r, PID, PID, 0x7000);
	const uint64_t chain[] = {UX_PERF_CONTEXT_USER, 0x7001, 0x1008};
	make_perf_sample(&r.out, next(&r, PID, PID), chain, ux_countof(chain));
	make_perf_comm(&r.out, next(&r, PID, PID), "renamed", false);
	sample(&r, PID, PID, 0x7002);
	expect(&r, ":100 10@/old; new 14@/old; new 10@/new; new 11@/new; renamed 12@/new");
	assert_int_equal(r.s.unmapped, 1); /* a return address does not belong to the old program */
	finish(&r);
}

static void threads_share_mappings_and_have_names_of_their_own(void **state)
{
	(void)state;
	struct recording r;
	start(&r);
	make_perf_comm(&r.out, next(&r, PID, PID), "main", false);
	make_perf_fork(&r.out, next(&r, PID, 101), PID);
	make_perf_comm(&r.out, next(&r, PID, 101), "worker", false);
	map(&r, PID, 0x1000, 0x1000, "/a");
	sample(&r, PID, 101, 0x1000);
	make_perf_exit(&r.out, next(&r, PID, PID));
	sample(&r, PID, 101, 0x1004); /* the others live on */
	make_perf_exit(&r.out, next(&r, PID, 101));
	sample(&r, PID, 101, 0x1008); /* nothing is mapped any longer */
	expect(&r, "worker 10@/a; worker 14@/a; worker 1008@");
	finish(&r);
}

static void a_number_that_is_used_again_is_a_new_process(void **state)
{
	(void)state;
	struct recording r;
	start(&r);
	make_perf_comm(&r.out, next(&r, PID, PID), "first", false);
	map(&r, PID, 0x1000, 0x1000, "/a");
	make_perf_comm(&r.out, next(&r, 50, 50), "shell", false);
	make_perf_exit(&r.out, next(&r, PID, PID));
	make_perf_fork(&r.out, next(&r, PID, PID), 50);
	sample(&r, PID, PID, 0x1000);
	sample(&r, 0, 0, 0x1000);
	expect(&r, "shell 1000@; swapper 1000@");
	finish(&r);
}

static void a_new_mapping_cuts_off_the_old_ones(void **state)
{
	(void)state;
	struct recording r;
	start(&r);
	map(&r, PID, 0x1000, 0x4000, "/a");
	map(&r, PID, 0x2000, 0x1000, "/b");
	map(&r, PID, 0x8000, 0x1000, "/c");
	map(&r, PID, 0x4800, 0x4000, "/d");
	for (uint64_t address = 0x1800; address < 0x9000; address += 0x1000)
		sample(&r, PID, PID, address);
	expect(&r, ":100 810@/a; :100 810@/b; :100 2810@/a; :100 10@/d; :100 1010@/d; "
		   ":100 2010@/d; :100 3010@/d; :100 810@/c");
	finish(&r);
}

static void code_made_at_run_time_belongs_to_its_process(void **state)
{
	(void)state;
	static const char *const paths[] = {"//anon", "[anon:v8]", "/memfd:jit (deleted)",
					    "/dev/zero (deleted)", ""};
	struct recording r;
	for (size_t i = 0; i < ux_countof(paths); i++) {
		start(&r);
		map(&r, PID, 0x1000, 0x1000, paths[i]);
		map(&r, 200, 0x1000, 0x1000, paths[i]);
		map(&r, PID, 0x9000, 0x1000, "/tmp/jit-100.dump");
		sample(&r, PID, PID, 0x1234);
		sample(&r, 200, 200, 0x1234);
		char text[128];
		snprintf(text, sizeof(text), ":100 1234@%s; :200 1234@%s", paths[i], paths[i]);
		expect(&r, text);
		assert_int_equal(r.p.modules.size, 4);
		for (size_t k = 1; k < r.p.modules.size; k++) {
			assert_int_equal(r.p.modules.data[k].kind, UX_PROFILE_JIT);
			assert_int_equal(r.p.modules.data[k].pid, k == 2 ? 200 : PID);
		}
		finish(&r);
	}
}

static void two_builds_at_one_path_are_two_modules(void **state)
{
	(void)state;
	struct recording r;
	start(&r);
	for (uint64_t i = 0; i < 3; i++)
		make_perf_mmap(&r.out, next(&r, PID, PID),
			       (struct make_perf_mapping){.start = 0x1000 * (i + 1),
							  .length = 0x1000,
							  .path = i < 2 ? "/a" : "/memfd:program",
							  .id = i == 0 ? "first build's number"
								       : "second build's number"});
	sample(&r, PID, PID, 0x1001);
	sample(&r, PID, PID, 0x2001);
	sample(&r, PID, PID, 0x3001);
	expect(&r, ":100 1@/a; :100 1@/a; :100 1@/memfd:program");
	assert_int_equal(r.p.modules.size, 4);
	assert_false(ux_id_eq(&r.p.modules.data[1].id, &r.p.modules.data[2].id));
	assert_int_equal(r.p.modules.data[3].kind, UX_PROFILE_FILE);
	finish(&r);
}

static void memory_of_the_kernel_for_processes_is_the_vdso(void **state)
{
	(void)state;
	struct recording r;
	start(&r);
	map(&r, PID, 0x7fff00001000, 0x1000, "[vdso]");
	sample(&r, PID, PID, 0x7fff00001004);
	expect(&r, ":100 14@[vdso]");
	assert_int_equal(r.p.modules.data[1].kind, UX_PROFILE_VDSO);
	finish(&r);
}

static void the_vdso_of_a_process_of_32_bits_has_a_name_of_its_own(void **state)
{
	(void)state;
	struct recording r;
	start(&r);
	map(&r, PID, 0xf7f01000, 0x1000, "[vdso]");
	sample(&r, PID, PID, 0xf7f01004);
	expect(&r, ":100 14@[vdso32]");
	assert_int_equal(r.p.modules.data[1].kind, UX_PROFILE_VDSO);
	finish(&r);
}

/* --- the kernel ------------------------------------------------------------------------------- */

#define KERNEL UINT64_C(0xffffffff81000000)
#define MODULE UINT64_C(0xffffffffc0100000)
#define BPF    UINT64_C(0xffffffffc0300000)

static void map_kernel(struct recording *r, uint64_t address, uint64_t length, const char *path)
{
	make_perf_mmap(&r->out, next(r, UINT32_MAX, 0),
		       (struct make_perf_mapping){.start = address,
						  .length = length,
						  .offset = address,
						  .path = path,
						  .misc = UX_PERF_MODE_KERNEL});
}

static void the_kernel_and_its_modules_are_apart(void **state)
{
	(void)state;
	struct recording r;
	start(&r);
	map_kernel(&r, KERNEL, 0x1000000, "[kernel.kallsyms]_text");
	map_kernel(&r, MODULE, 0x1000, "[ext4]");
	sample_kernel(&r, KERNEL + 0x123);
	sample_kernel(&r, MODULE + 0x20);
	sample_kernel(&r, MODULE + 0x2000);
	expect(&r, ":100 ffffffff81000123@[kernel.kallsyms]; :100 ffffffffc0100020@[ext4]; "
		   ":100 ffffffffc0102000@[kernel.kallsyms]");
	assert_int_equal(r.p.modules.size, 3);
	for (size_t i = 1; i < r.p.modules.size; i++) {
		assert_int_equal(r.p.modules.data[i].kind, UX_PROFILE_KERNEL);
		assert_int_equal(r.p.modules.data[i].start, i == 1 ? KERNEL : MODULE);
	}
	finish(&r);
}

static void programs_in_the_kernel_have_their_names_while_they_are_there(void **state)
{
	(void)state;
	struct recording r;
	start(&r);
	make_perf_ksymbol(&r.out, next(&r, 0, 0), BPF, 0x100, "bpf_prog_1_first", false);
	sample_kernel(&r, BPF + 4);
	sample_kernel(&r, BPF + 4);
	make_perf_ksymbol(&r.out, next(&r, 0, 0), BPF, 0x100, "bpf_prog_1_first", true);
	sample_kernel(&r, BPF + 4);
	make_perf_ksymbol(&r.out, next(&r, 0, 0), BPF, 0x100, "bpf_prog_2_second", false);
	sample_kernel(&r, BPF + 4);
	expect(&r,
	       ":100 ffffffffc0300004@bpf_prog_1_first; :100 ffffffffc0300004@bpf_prog_1_first; "
	       ":100 ffffffffc0300004@[kernel.kallsyms]; "
	       ":100 ffffffffc0300004@bpf_prog_2_second");
	size_t named = 0;
	for (size_t i = 1; i < r.p.locations.size; i++) {
		const struct ux_profile_location *l = &r.p.locations.data[i];
		const struct ux_profile_module *m = &r.p.modules.data[l->module];
		named += l->named;
		if (l->named)
			assert_int_equal(r.p.frames.data[l->first].name, m->path);
	}
	assert_int_equal(named, 2);
	finish(&r);
}

static void garbage_among_return_addresses_is_no_change_of_mode(void **state)
{
	(void)state;
	struct recording r;
	start(&r);
	map(&r, PID, 0x1000, 0x1000, "/a");
	const uint64_t chain[] = {UX_PERF_CONTEXT_USER, 0x1000, (uint64_t)-1, 0x1004};
	make_perf_sample(&r.out, next(&r, PID, PID), chain, ux_countof(chain));
	const uint64_t deferred[] = {UX_PERF_CONTEXT_KERNEL, KERNEL, UX_PERF_CONTEXT_USER_DEFERRED,
				     0x7777};
	make_perf_sample(&r.out, next(&r, PID, PID), deferred, ux_countof(deferred));
	const uint64_t guest[] = {UX_PERF_CONTEXT_GUEST_KERNEL, KERNEL};
	make_perf_sample(&r.out, next(&r, PID, PID), guest, ux_countof(guest));
	expect(&r, ":100 10@/a; :100 ffffffff81000000@[kernel.kallsyms]; :100 ffffffff81000000@");
	const struct ux_profile_stack *leaf = &r.p.stacks.data[r.p.samples.data[0].stack];
	const struct ux_profile_location *caller =
		&r.p.locations.data[r.p.stacks.data[leaf->caller].location];
	assert_int_equal(caller->address, 0x14);
	assert_true(caller->returns);
	assert_int_equal(r.s.deferred, 1);
	assert_int_equal(r.s.unmapped, 1);
	finish(&r);
}

/* --- limits ----------------------------------------------------------------------------------- */

static void mappings_are_limited_over_all_processes(void **state)
{
	(void)state;
	struct ux_perf_spaces all = {0};
	struct ux_perf_space *first = NULL, *second = NULL;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(ux_perf_space_map(&all, &first,
						   (struct ux_perf_mapping){.start = i * 16,
									    .end = i * 16 + 8},
						   NULL),
				 UX_OK);
	all.mappings += UX_PERF_MAPPINGS_MAX - 1500;
	second = first;
	second->users++;
	assert_int_equal(ux_perf_space_unmap(&all, &second, 0, 16, NULL), UX_ELIMIT);
	assert_ptr_equal(first, second);
	all.mappings -= 1000;
	assert_int_equal(ux_perf_space_unmap(&all, &second, 0, 16, NULL), UX_OK);
	assert_ptr_not_equal(first, second);
	assert_null(ux_perf_space_find(second, 4));
	assert_non_null(ux_perf_space_find(first, 4));
	assert_null(ux_perf_space_find(first, 8));
	ux_perf_space_release(&all, &second);
	ux_perf_space_release(&all, &first);
	assert_int_equal(all.mappings, UX_PERF_MAPPINGS_MAX - 2500);
}

static void mappings_of_a_process_are_limited(void **state)
{
	(void)state;
	struct ux_perf_spaces all = {0};
	struct ux_perf_space *space = NULL;
	enum ux_code code = UX_OK;
	uint64_t n = 0;
	for (; code == UX_OK; n++)
		code = ux_perf_space_map(
			&all, &space, (struct ux_perf_mapping){.start = n * 16, .end = n * 16 + 8},
			NULL);
	assert_int_equal(code, UX_ELIMIT);
	assert_int_equal(n, UX_PERF_SPACE_MAX);
	ux_perf_space_release(&all, &space);
	assert_int_equal(all.mappings, 0);
}

UX_SUITE(perf_process)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_fork_inherits_and_then_goes_its_own_way),
		UX_TEST(an_exec_clears_and_names),
		UX_TEST(threads_share_mappings_and_have_names_of_their_own),
		UX_TEST(a_number_that_is_used_again_is_a_new_process),
		UX_TEST(a_new_mapping_cuts_off_the_old_ones),
		UX_TEST(code_made_at_run_time_belongs_to_its_process),
		UX_TEST(two_builds_at_one_path_are_two_modules),
		UX_TEST(memory_of_the_kernel_for_processes_is_the_vdso),
		UX_TEST(the_vdso_of_a_process_of_32_bits_has_a_name_of_its_own),
		UX_TEST(the_kernel_and_its_modules_are_apart),
		UX_TEST(programs_in_the_kernel_have_their_names_while_they_are_there),
		UX_TEST(garbage_among_return_addresses_is_no_change_of_mode),
		UX_TEST(mappings_are_limited_over_all_processes),
		UX_TEST(mappings_of_a_process_are_limited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
