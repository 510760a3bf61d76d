/* SPDX-License-Identifier: Apache-2.0 */
/* lib/unwind: stacks from registers and a copy of memory. */
#include "sweep.h"

#include "make_elf.h"
#include "make_frames.h"
#include "unwind.h"

enum {
	CODE = 0x1000, /* pc of .text, and its position in the file */
	CODE_SIZE = 0x1000,
	FRAMES = 0x3000,
	BASE = 0x10000000, /* where the file is loaded */
	STACK = 0x7fff0000,
	RBP = 6,
	RSP = 7,
	RA = 16,

	/* The functions of the file, each of 0x100 bytes. */
	PLAIN = 0x1000,  /* pushes nothing: the return address is at rsp */
	FRAMED = 0x1100, /* its caller's frame begins at rbp + 16 */
	OUTERMOST = 0x1200,
	SIGNAL = 0x1300, /* the interrupted pc, rsp and rbp are on the stack */
	STUCK = 0x1400,  /* its frame is its caller's frame */
	BARE = 0x1500,   /* has no rules */
	BROKEN = 0x1600, /* has rules that cannot be executed */
	CALLS = 0x1700,  /* begins with a call of 5 bytes, and has one of 2 at 0x10 */
};

static uint64_t at(uint64_t pc)
{
	return BASE + pc;
}

/* The unwind table of these functions, at FRAMES. */
static void make_table(struct make_frames *f)
{
	static const uint8_t initial[] = {0x0c, RSP, 8, 0x80 | RA, 1};
	static const uint8_t framed[] = {0x0c, RBP, 16, 0x80 | RBP, 2};
	static const uint8_t outermost[] = {0x07, RA};
	/* The CFA is the word at rsp + 8; the pc that at rsp, rbp that at rsp + 16. */
	static const uint8_t signal[] = {0x0f, 3, 0x77, 8,   0x06, 0x10, RA, 2,
					 0x77, 0, 0x10, RBP, 2,    0x77, 16};
	static const uint8_t stuck[] = {0x0c, RSP, 0, 0x11, RA, 0};
	static const uint8_t broken[] = {0x3f};
	const struct {
		uint64_t pc;
		struct ux_bytes instructions;
	} functions[] = {
		{PLAIN, UX_BYTES_NONE},
		{FRAMED, {framed, sizeof(framed)}},
		{OUTERMOST, {outermost, sizeof(outermost)}},
		{STUCK, {stuck, sizeof(stuck)}},
		{BROKEN, {broken, sizeof(broken)}},
		{CALLS, UX_BYTES_NONE},
	};
	make_frames_init(f, true, false, FRAMES);
	f->initial = ux_bytes(initial, sizeof(initial));
	make_frames_cie(f, "zR");
	for (size_t i = 0; i < ux_countof(functions); i++) {
		f->instructions = functions[i].instructions;
		make_frames_fde(f, functions[i].pc, 0x100);
	}
	make_frames_cie(f, "zRS");
	f->instructions = ux_bytes(signal, sizeof(signal));
	make_frames_fde(f, SIGNAL, 0x100);
	make_frames_end(f);
}

/* An ELF file with code at CODE and that table, in .eh_frame or in .debug_frame. */
static struct ux_bytes make_file(struct make_elf *m, bool eh)
{
	static const uint8_t code[CODE_SIZE] = {
		[CALLS - CODE] = 0xe8, [CALLS - CODE + 0x10] = 0xff, [CALLS - CODE + 0x11] = 0xd1};
	struct make_frames f;
	make_table(&f);
	if (!eh) {
		make_frames_deinit(&f);
		make_frames_init(&f, true, false, 0);
		static const uint8_t initial[] = {0x0c, RSP, 8, 0x80 | RA, 1};
		f.eh = false;
		f.initial = ux_bytes(initial, sizeof(initial));
		make_frames_cie(&f, "");
		make_frames_fde(&f, PLAIN, 0x100);
	}
	make_elf_init(m, 64, false);
	uint32_t text = make_elf_section(m, (struct make_section){.name = ".text",
								  .flags = 6,
								  .addr = CODE,
								  .align = CODE,
								  .content = {code, sizeof(code)}});
	make_elf_section(m, (struct make_section){.name = eh ? ".eh_frame" : ".debug_frame",
						  .flags = eh ? 2 : 0,
						  .addr = eh ? FRAMES : 0,
						  .align = 8,
						  .content = ux_out_bytes(&f.out)});
	make_elf_segment(
		m, (struct make_segment){.type = PT_LOAD, .flags = 5, .first = text, .last = text});
	struct ux_bytes file = make_elf_finish(m);
	make_frames_deinit(&f);
	return file;
}

/* A ux_unwind_find_fn with a module: it is loaded at BASE, followed by code without a file. */
static struct ux_unwind_place find_code(void *ctx, uint64_t address)
{
	struct ux_unwind_place place = {.code = address >= at(CODE) && address < at(0x10000)};
	if (place.code && address < at(CODE + CODE_SIZE) &&
	    ux_unwind_module_pc(ctx, address - BASE, &place.pc))
		place.module = ctx;
	return place;
}

/* The frames of a thread as text: "1010 1180< short"; < is a return address. */
static const char *unwound_with(struct ux_bytes file, const struct ux_unwind_thread *thread)
{
	static const char *const ends[] = {"complete", "short", "lost", "limit"};
	static struct ux_unwind_frame frames[UX_UNWIND_FRAMES_MAX];
	static char text[UX_UNWIND_FRAMES_MAX * 16];
	struct ux_unwinder unwinder = {0};
	struct ux_unwind_module *m = NULL;
	enum ux_unwind_end end = UX_UNWIND_COMPLETE;
	size_t n = 0, size = 0;
	assert_int_equal(ux_unwind_module_open(file, &m, NULL), UX_OK);
	for (int i = 0; i < 2; i++) { /* the second time with the rules of the first */
		char again[sizeof(text)];
		memcpy(again, text, sizeof(text));
		assert_int_equal(ux_unwind(&unwinder, thread, find_code, m, frames, &n, &end, NULL),
				 UX_OK);
		size = 0;
		for (size_t k = 0; k < n; k++)
			size += (size_t)snprintf(text + size, sizeof(text) - size, "%" PRIx64 "%s ",
						 frames[k].address - BASE,
						 frames[k].returns ? "<" : "");
		snprintf(text + size, sizeof(text) - size, "%s", ends[end]);
		if (i > 0)
			assert_string_equal(text, again);
	}
	ux_unwinder_deinit(&unwinder);
	ux_unwind_module_free(m);
	return text;
}

static const char *unwound(uint64_t pc, uint64_t rbp, const uint64_t *words, size_t n)
{
	struct make_elf elf;
	struct ux_bytes stack = guard(ux_bytes(words, n * sizeof(*words)));
	struct ux_unwind_thread thread = {
		.machine = UX_UNWIND_X86_64,
		.pc = at(pc),
		.registers = {[RBP] = rbp, [RSP] = STACK},
		.known = 1 << RBP | 1 << RSP,
		.stack = STACK,
		.bytes = stack,
	};
	const char *text = unwound_with(make_file(&elf, /* eh= */ true), &thread);
	make_elf_deinit(&elf);
	guard_free(stack);
	return text;
}

#define UNWOUND(pc, rbp, ...) \
	unwound(pc, rbp, (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)

static void callers_are_found_up_to_the_outermost_function(void **state)
{
	(void)state;
	assert_string_equal(UNWOUND(PLAIN + 4, STACK + 16, at(FRAMED + 9), 0, /* saved rbp: */ 0,
				    at(OUTERMOST + 8)),
			    "1004 1109< 1208< complete");
	assert_string_equal(UNWOUND(OUTERMOST, 0, 0), "1200 complete");
}

static void a_call_at_the_end_of_a_function_belongs_to_it(void **state)
{
	(void)state;
	/* The return address is the start of the following function, which is outermost. */
	assert_string_equal(UNWOUND(PLAIN, STACK + 16, at(FRAMED + 0x100), 0, 0, at(OUTERMOST + 1)),
			    "1000 1200< 1201< complete");
}

static void a_stack_ends_where_its_copy_does(void **state)
{
	(void)state;
	assert_string_equal(UNWOUND(PLAIN, STACK + 16, at(FRAMED + 9), 0), "1000 1109< short");
	assert_string_equal(UNWOUND(FRAMED, STACK + 0x1000, 0), "1100 short");
}

static void an_interrupted_function_is_no_caller(void **state)
{
	(void)state;
	/* The handler returns to SIGNAL, which finds pc, rsp and rbp of PLAIN's first instruction.
	 */
	assert_string_equal(UNWOUND(PLAIN + 8, 0, at(SIGNAL + 1), at(PLAIN), STACK + 40, STACK + 48,
				    0, at(FRAMED + 2), /* saved rbp: */ 0, at(OUTERMOST + 3)),
			    "1008 1301 1000 1102< 1203< complete");
}

static void a_frame_that_does_not_grow_ends_the_stack(void **state)
{
	(void)state;
	assert_string_equal(UNWOUND(STUCK, 0, at(STUCK + 4)), "1400 1404< lost");
}

static void code_without_rules_is_unwound_by_frame_pointers(void **state)
{
	(void)state;
	assert_string_equal(
		UNWOUND(BARE, STACK, STACK + 16, at(0x5000), STACK + 32, at(OUTERMOST + 1)),
		"1500 5000< 1201< complete");
	assert_string_equal(UNWOUND(0x5000, STACK, 0, 0), "5000 complete");
	assert_string_equal(UNWOUND(0x5000, STACK - 8, 0, at(PLAIN)), "5000 lost");
	assert_string_equal(UNWOUND(BROKEN, STACK, 0, at(OUTERMOST + 1)), "1600 1201< complete");
}

/* As CPython's: sub rsp, 8; call; add rsp, 8; ret. The caller's call is in the bytes of the file.
 */
static void a_trampoline_without_a_frame_pointer_returns_behind_a_call(void **state)
{
	(void)state;
	/* PLAIN returns to 0x5000, which has no file; rbp is not a frame. */
	assert_string_equal(
		UNWOUND(PLAIN, 1, at(0x5000), /* padding: */ 7, at(CALLS + 5), at(OUTERMOST + 1)),
		"1000 5000< 1705< 1201< complete");
	assert_string_equal(UNWOUND(PLAIN, 1, at(0x5000), 7, at(CALLS + 0x12), at(OUTERMOST + 1)),
			    "1000 5000< 1712< 1201< complete");
	/* A word that is not a call's return address is not taken for one. */
	assert_string_equal(UNWOUND(PLAIN, 1, at(0x5000), 7, at(CALLS + 6), at(OUTERMOST + 1)),
			    "1000 5000< lost");
	assert_string_equal(UNWOUND(0x5000, 1, 7, at(CALLS + 5), at(OUTERMOST + 1)), "5000 lost");
}

static void a_call_of_no_code_leads_to_its_caller(void **state)
{
	(void)state;
	assert_string_equal(UNWOUND(0x20000, 0, at(OUTERMOST + 7)), "20000 1207< complete");
	assert_string_equal(UNWOUND(0x20000, 0, at(0x20008)), "20000 lost");
}

static void a_caller_that_is_no_code_is_none(void **state)
{
	(void)state;
	assert_string_equal(UNWOUND(PLAIN, 0, at(0x30000)), "1000 lost");
	assert_string_equal(UNWOUND(PLAIN, 0, 0), "1000 complete");
}

static void a_stack_of_too_many_frames_is_cut(void **state)
{
	(void)state;
	enum {
		WORDS = UX_UNWIND_FRAMES_MAX + 8
	};
	uint64_t words[WORDS];
	for (size_t i = 0; i < WORDS; i++)
		words[i] = at(PLAIN + 5);
	const char *text = unwound(PLAIN, 0, words, WORDS);
	assert_string_equal(text + strlen(text) - 11, "1005< limit");
}

/* A 64-bit thread in PLAIN, whose return address follows; words is its stack. */
static struct ux_unwind_thread plain_thread(uint64_t words[2])
{
	words[0] = at(PLAIN + 5);
	words[1] = 0;
	return (struct ux_unwind_thread){
		.machine = UX_UNWIND_X86_64,
		.pc = at(PLAIN),
		.registers = {[RSP] = STACK},
		.known = 1 << RSP,
		.stack = STACK,
		.bytes = ux_bytes(words, 2 * sizeof(*words)),
	};
}

static void a_table_for_debuggers_is_used_where_there_is_no_other(void **state)
{
	(void)state;
	struct make_elf elf;
	uint64_t words[2];
	struct ux_unwind_thread thread = plain_thread(words);
	assert_string_equal(unwound_with(make_file(&elf, /* eh= */ false), &thread),
			    "1000 1005< complete");
	make_elf_deinit(&elf);
}

static void a_copy_in_the_other_byte_order_is_read(void **state)
{
	(void)state;
	struct make_elf elf;
	const uint64_t words[] = {__builtin_bswap64(at(OUTERMOST + 5))};
	struct ux_unwind_thread thread = {
		.pc = at(PLAIN),
		.registers = {[RSP] = STACK},
		.known = 1 << RSP,
		.stack = STACK,
		.bytes = ux_bytes(words, sizeof(words)),
		.swap = true,
	};
	assert_string_equal(unwound_with(make_file(&elf, true), &thread), "1000 1205< complete");
	make_elf_deinit(&elf);
}

/* arm64: the return address is in x30, and may have a signature in its upper bits. */
static void signed_return_addresses_are_plain(void **state)
{
	(void)state;
	enum {
		FP = 29,
		LR = 30,
		SP = 31
	};
	const uint64_t words[] = {0, at(0x6000) | UINT64_C(0x5a) << 56};
	struct ux_unwind_thread thread = {
		.machine = UX_UNWIND_ARM64,
		.pc = at(0x20000), /* no code */
		.registers = {[FP] = STACK, [LR] = at(0x5000) | UINT64_C(0x7) << 50, [SP] = STACK},
		.known = (uint64_t)1 << FP | (uint64_t)1 << LR | (uint64_t)1 << SP,
		.stack = STACK,
		.bytes = ux_bytes(words, sizeof(words)),
	};
	struct make_elf elf;
	assert_string_equal(unwound_with(make_file(&elf, true), &thread), "20000 5000< 6000< lost");
	make_elf_deinit(&elf);
}

/* --- 32 bits ---------------------------------------------------------------------------------- */

/* A file of i386 whose function at PLAIN pushes nothing, and whose function at FRAMED has its frame
 * at the word above the stack pointer; or of ARM, with only .ARM.exidx. */
static struct ux_bytes make_file_32(struct make_elf *m, bool arm)
{
	enum {
		EBP = 5,
		ESP = 4,
		EIP = 8
	};
	static const uint8_t code[CODE_SIZE] = {0};
	static const uint8_t initial[] = {0x0c, ESP, 4, 0x80 | EIP, 1};
	static const uint8_t framed[] = {0x0f, 3, 0x74, 4, 0x06, 0x80 | EBP, 2};
	static const uint8_t outermost[] = {0x07, EIP};
	/* PLAIN pops r4 and the return address, which FRAMED still has in r14; OUTERMOST has none.
	 */
	static const uint32_t exidx[] = {
		(uint32_t)(PLAIN - FRAMES) & 0x7fffffff,          0x80a8b0b0,
		(uint32_t)(FRAMED - FRAMES - 8) & 0x7fffffff,     0x80b0b0b0,
		(uint32_t)(OUTERMOST - FRAMES - 16) & 0x7fffffff, 1};
	struct make_frames f;
	make_frames_init(&f, false, false, FRAMES);
	f.initial = ux_bytes(initial, sizeof(initial));
	make_frames_cie(&f, "zR");
	make_frames_fde(&f, PLAIN, 0x100);
	f.instructions = ux_bytes(framed, sizeof(framed));
	make_frames_fde(&f, FRAMED, 0x100);
	f.instructions = ux_bytes(outermost, sizeof(outermost));
	make_frames_fde(&f, OUTERMOST, 0x100);
	make_frames_end(&f);
	make_elf_init(m, 32, false);
	m->machine = arm ? EM_ARM : EM_386;
	uint32_t text = make_elf_section(m, (struct make_section){.name = ".text",
								  .flags = 6,
								  .addr = CODE,
								  .align = CODE,
								  .content = {code, sizeof(code)}});
	uint32_t table = make_elf_section(
		m, (struct make_section){.name = arm ? ".ARM.exidx" : ".eh_frame",
					 .flags = 2,
					 .addr = FRAMES,
					 .align = 4,
					 .content = arm ? ux_bytes(exidx, sizeof(exidx))
							: ux_out_bytes(&f.out)});
	make_elf_segment(
		m, (struct make_segment){.type = PT_LOAD, .flags = 5, .first = text, .last = text});
	make_elf_segment(m, (struct make_segment){
				    .type = PT_LOAD, .flags = 4, .first = table, .last = table});
	if (arm)
		make_elf_segment(m, (struct make_segment){
					    .type = PT_ARM_EXIDX, .first = table, .last = table});
	struct ux_bytes file = make_elf_finish(m);
	make_frames_deinit(&f);
	return file;
}

static const char *unwound_32(enum ux_unwind_machine machine, uint64_t pc, uint32_t lr,
			      const uint32_t *words, size_t n)
{
	enum {
		ARM_SP = 13,
		ARM_LR = 14,
		ESP = 4
	};
	struct make_elf elf;
	bool arm = machine == UX_UNWIND_ARM;
	struct ux_unwind_thread thread = {
		.machine = machine,
		.pc = at(pc),
		.registers = {[ESP] = STACK, [ARM_SP] = STACK, [ARM_LR] = lr},
		.known = arm ? 1 << ARM_SP | 1 << ARM_LR : 1 << ESP,
		.stack = STACK,
		.bytes = guard(ux_bytes(words, n * sizeof(*words))),
	};
	const char *text = unwound_with(make_file_32(&elf, arm), &thread);
	make_elf_deinit(&elf);
	guard_free(thread.bytes);
	return text;
}

#define UNWOUND_32(machine, pc, lr, ...)                             \
	unwound_32(machine, pc, lr, (const uint32_t[]){__VA_ARGS__}, \
		   sizeof((uint32_t[]){__VA_ARGS__}) / 4)

static void stacks_of_i386_have_words_of_4_bytes(void **state)
{
	(void)state;
	/* FRAMED's frame is the word at esp + 4, and its caller's ebp and eip are below that. */
	assert_string_equal(UNWOUND_32(UX_UNWIND_I386, PLAIN + 4, 0, (uint32_t)at(FRAMED + 9), 7,
				       STACK + 20, /* ebp: */ STACK, (uint32_t)at(OUTERMOST + 8)),
			    "1004 1109< 1208< complete");
	assert_string_equal(UNWOUND_32(UX_UNWIND_I386, PLAIN, 0, (uint32_t)at(PLAIN + 1)),
			    "1000 1001< short");
	/* A call of NULL. */
	assert_string_equal(UNWOUND_32(UX_UNWIND_I386, 0x20000, 0, (uint32_t)at(OUTERMOST + 7)),
			    "20000 1207< complete");
}

static void stacks_of_arm_are_unwound_by_the_compact_tables(void **state)
{
	(void)state;
	/* Bit 0 of a return address selects Thumb, and does not belong to the address. */
	assert_string_equal(UNWOUND_32(UX_UNWIND_ARM, FRAMED + 4, (uint32_t)at(PLAIN + 9), 4,
				       (uint32_t)at(OUTERMOST + 3)),
			    "1104 1008< 1202< lost");
	assert_string_equal(UNWOUND_32(UX_UNWIND_ARM, PLAIN, 0, 4), "1000 short");
	/* A call of NULL left its return address in the register. */
	assert_string_equal(UNWOUND_32(UX_UNWIND_ARM, 0x20000, (uint32_t)at(PLAIN + 9), 4,
				       (uint32_t)at(OUTERMOST + 3)),
			    "20000 1008< 1202< lost");
}

/* A 64-bit process may have mapped a 32-bit library to read it. */
static void tables_for_another_machine_are_not_used(void **state)
{
	(void)state;
	struct make_elf elf;
	uint64_t words[2];
	struct ux_unwind_thread thread = plain_thread(words);
	assert_string_equal(unwound_with(make_file_32(&elf, false), &thread), "1000 lost");
	make_elf_deinit(&elf);
}

static void open_and_unwind(struct ux_bytes input, void *ctx)
{
	struct ux_unwind_module *m = NULL;
	static struct ux_unwind_frame frames[UX_UNWIND_FRAMES_MAX];
	struct ux_unwinder unwinder = {0};
	enum ux_unwind_end end;
	size_t n = 0;
	if (ux_unwind_module_open(input, &m, NULL) != UX_OK)
		return;
	assert_int_equal(ux_unwind(&unwinder, ctx, find_code, m, frames, &n, &end, NULL), UX_OK);
	assert_in_range(n, 1, UX_UNWIND_FRAMES_MAX);
	ux_unwinder_deinit(&unwinder);
	ux_unwind_module_free(m);
}

static void damaged_files_give_some_stack(void **state)
{
	(void)state;
	struct make_elf elf;
	const uint64_t words[] = {at(SIGNAL + 1), at(PLAIN), STACK + 40,       STACK + 48, 0,
				  at(FRAMED + 2), 0,         at(OUTERMOST + 3)};
	struct ux_unwind_thread thread = {
		.pc = at(PLAIN + 8),
		.registers = {[RSP] = STACK},
		.known = 1 << RSP | 1 << RBP,
		.stack = STACK,
		.bytes = ux_bytes(words, sizeof(words)),
	};
	struct ux_bytes file = make_file(&elf, true);
	/* The code is zeros: the parts before and after it are damaged. */
	struct ux_out copy = {0};
	ux_out_put(&copy, file.data, file.size);
	for (size_t i = 0; i < file.size; i++) {
		if (i >= CODE && i < CODE + CODE_SIZE)
			continue;
		for (unsigned bit = 0; bit < 8; bit++) {
			copy.data[i] ^= (uint8_t)(1 << bit);
			open_and_unwind(ux_out_bytes(&copy), &thread);
			copy.data[i] ^= (uint8_t)(1 << bit);
		}
	}
	for (size_t n = CODE + CODE_SIZE; n < file.size; n++) {
		struct ux_bytes prefix = guard(ux_bytes(file.data, n));
		open_and_unwind(prefix, &thread);
		guard_free(prefix);
	}
	ux_out_deinit(&copy);
	make_elf_deinit(&elf);
}

static enum ux_code open_again(void *ctx)
{
	const struct ux_bytes *file = ctx;
	struct ux_unwind_module *m = NULL;
	enum ux_code code = ux_unwind_module_open(*file, &m, NULL);
	if (code == UX_OK)
		ux_unwind_module_free(m);
	return code;
}

static void memory_that_is_short_is_an_error(void **state)
{
	(void)state;
	struct make_elf elf;
	struct ux_bytes file = make_file(&elf, true);
	assert_true(each_failed_alloc(open_again, &file, /* may_recover= */ false) > 2);
	make_elf_deinit(&elf);
}

UX_SUITE(unwind)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(callers_are_found_up_to_the_outermost_function),
		UX_TEST(a_call_at_the_end_of_a_function_belongs_to_it),
		UX_TEST(a_stack_ends_where_its_copy_does),
		UX_TEST(an_interrupted_function_is_no_caller),
		UX_TEST(a_frame_that_does_not_grow_ends_the_stack),
		UX_TEST(code_without_rules_is_unwound_by_frame_pointers),
		UX_TEST(a_trampoline_without_a_frame_pointer_returns_behind_a_call),
		UX_TEST(a_call_of_no_code_leads_to_its_caller),
		UX_TEST(a_caller_that_is_no_code_is_none),
		UX_TEST(a_stack_of_too_many_frames_is_cut),
		UX_TEST(a_table_for_debuggers_is_used_where_there_is_no_other),
		UX_TEST(a_copy_in_the_other_byte_order_is_read),
		UX_TEST(signed_return_addresses_are_plain),
		UX_TEST(stacks_of_i386_have_words_of_4_bytes),
		UX_TEST(stacks_of_arm_are_unwound_by_the_compact_tables),
		UX_TEST(tables_for_another_machine_are_not_used),
		UX_TEST(damaged_files_give_some_stack),
		UX_TEST(memory_that_is_short_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
