/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code as text: each machine and byte order, and where the code ends. */
#include "sweep.h"

#include "cursor.h"
#include "make_elf.h"
#include "sandbox_child.h"

static struct ux_capstone_calls calls;

#define BYTES(literal) literal, sizeof(literal) - 1

/* Code at 0x1000 of a file. */
struct code {
	unsigned bits;
	bool big;
	uint16_t machine;
	const char *bytes;
	size_t size;
};

static enum ux_code disassemble(const struct code *code, struct ux_code_range range,
				struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(make_elf_deinit) struct make_elf m = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	make_elf_init(&m, code->bits, code->big);
	m.machine = code->machine;
	uint32_t text = make_elf_section(
		&m, (struct make_section){.name = ".text",
					  .flags = SHF_ALLOC | SHF_EXECINSTR,
					  .addr = 0x1000,
					  .content = ux_bytes(code->bytes, code->size)});
	make_elf_segment(&m, (struct make_segment){
				     .type = PT_LOAD, .flags = PF_X, .first = text, .last = text});
	assert_int_equal(ux_elf_open(&elf, make_elf_finish(&m), NULL), UX_OK);
	return ux_disassemble(&calls, &elf, &range, out, err);
}

/* Returns the instructions in the output, as "0 nop; 1 ret". */
static const char *listed(const struct ux_out *out)
{
	static char text[512];
	struct ux_cur c = ux_cur_make(ux_out_bytes(out), "text", /* swap= */ false);
	size_t n = 0;
	text[0] = '\0';
	while (ux_cur_more(&c)) {
		uint32_t off = ux_cur_u32(&c);
		uint64_t target = ux_cur_u64(&c);
		struct ux_bytes line = ux_cur_take(&c, ux_cur_u16(&c));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u %.*s", n > 0 ? "; " : "",
				      off, (int)line.size, (const char *)line.data);
		if (target != 0)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " -> %" PRIx64, target);
	}
	assert_int_equal(ux_cur_status(&c, NULL), UX_OK);
	return text;
}

static void assert_code(const struct code *code, struct ux_code_range range, const char *expected)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(disassemble(code, range, &out, &err), UX_OK);
	assert_string_equal(listed(&out), expected);
}

static void code_of_each_machine_is_read(void **state)
{
	(void)state;
	static const struct {
		struct code code;
		const char *expected;
	} cases[] = {
		{{64, false, EM_X86_64, BYTES("\x55\x48\x89\xe5\xc3")},
		 "0 push rbp; 1 mov rbp, rsp; 4 ret"},
		{{32, false, EM_386, BYTES("\x55\x89\xe5\xc3")},
		 "0 push ebp; 1 mov ebp, esp; 3 ret"},
		{{64, false, EM_AARCH64, BYTES("\xc0\x03\x5f\xd6")}, "0 ret"},
		{{32, false, EM_ARM, BYTES("\x1e\xff\x2f\xe1")}, "0 bx lr"},
		{{64, false, EM_PPC64, BYTES("\x01\x00\x60\x38")}, "0 li r3, 1"},
		{{64, true, EM_PPC64, BYTES("\x38\x60\x00\x01")}, "0 li r3, 1"},
		{{64, true, EM_S390, BYTES("\x07\xfe")}, "0 br %r14"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++)
		assert_code(&cases[i].code,
			    (struct ux_code_range){.pc = 0x1000, .size = cases[i].code.size},
			    cases[i].expected);
}

static void what_an_instruction_refers_to_is_reported(void **state)
{
	(void)state;
	static const struct {
		struct code code;
		const char *expected;
	} cases[] = {
		{{64, false, EM_X86_64,
		  BYTES("\xe8\x0b\x00\x00\x00\x74\xf9\x48\x8d\x05\x10\x00\x00\x00\xff\xe0")},
		 "0 call 0x1010 -> 1010; 5 je 0x1000 -> 1000; "
		 "7 lea rax, [rip + 0x10] -> 101e; 14 jmp rax"},
		{{32, false, EM_386, BYTES("\xe8\xfb\xef\xff\xff\xb8\x01\x00\x00\x00")},
		 "0 call 0; 5 mov eax, 1"},
		{{32, false, EM_386, BYTES("\xe8\xf0\xdf\xff\xff")},
		 "0 call 0xffffeff5 -> ffffeff5"},
		{{64, false, EM_AARCH64,
		  BYTES("\x04\x00\x00\x94\x40\x00\x18\x36\x40\x00\x00\x10\x20\x08\x00\x91")},
		 "0 bl #0x1010 -> 1010; 4 tbz w0, #3, #0x100c -> 100c; "
		 "8 adr x0, #0x1010 -> 1010; 12 add x0, x1, #2"},
		{{32, false, EM_ARM, BYTES("\x02\x00\x00\xeb")}, "0 bl #0x1010 -> 1010"},
		{{64, false, EM_PPC64, BYTES("\x11\x00\x00\x48")}, "0 bl 0x1010 -> 1010"},
		{{64, true, EM_S390, BYTES("\xc0\xe5\x00\x00\x00\x08")},
		 "0 brasl %r14, 0x1010 -> 1010"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++)
		assert_code(&cases[i].code,
			    (struct ux_code_range){0x1000, cases[i].code.size, false},
			    cases[i].expected);
}

static void x86_has_two_syntaxes(void **state)
{
	(void)state;
	static const struct code pair = {64, false, EM_X86_64,
					 BYTES("\x48\x89\xe5\x48\x8d\x05\x10\x00\x00\x00")};
	static const struct code other = {64, false, EM_AARCH64, BYTES("\xc0\x03\x5f\xd6")};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_code(&pair, (struct ux_code_range){0x1000, 10, /* att= */ true},
		    "0 movq %rsp, %rbp; 3 leaq 0x10(%rip), %rax -> 101a");
	assert_int_equal(
		disassemble(&other, (struct ux_code_range){0x1000, 4, /* att= */ true}, &out, &err),
		UX_EUNSUPPORTED);
	assert_string_equal(err.text, "there is no AT&T syntax for aarch64");
}

static const struct code thumb = {32, false, EM_ARM, BYTES("\x01\x20\x70\x47")};
static const struct code x86 = {64, false, EM_X86_64, BYTES("\x90\x90\x55\xc3\x90")};

static void an_odd_address_means_thumb_on_arm_alone(void **state)
{
	(void)state;
	assert_code(&thumb, (struct ux_code_range){0x1001, 4}, "0 movs r0, #1; 2 bx lr");
	assert_code(&x86, (struct ux_code_range){0x1001, 3}, "0 nop; 1 push rbp; 2 ret");
}

static void instructions_that_begin_in_the_range_are_read_whole(void **state)
{
	(void)state;
	static const struct code longer = {64, false, EM_X86_64, BYTES("\x90\x48\x89\xe5\xc3")};
	assert_code(&longer, (struct ux_code_range){0x1000, 2}, "0 nop; 1 mov rbp, rsp");
	assert_code(&longer, (struct ux_code_range){0x1000, 1}, "0 nop");
	assert_code(&longer, (struct ux_code_range){0x1000, 100}, "0 nop; 1 mov rbp, rsp; 4 ret");
	assert_code(&longer, (struct ux_code_range){0x1004, 1}, "0 ret");
	assert_code(&longer, (struct ux_code_range){0x1000, 0}, "");
}

static void bytes_that_are_no_instruction_are_reported(void **state)
{
	(void)state;
	static const struct code odd = {64, false, EM_X86_64, BYTES("\x06\xc3")};
	assert_code(&odd, (struct ux_code_range){0x1000, 2}, "0 .byte 0x06; 1 ret");
}

static void what_cannot_be_read_is_reported(void **state)
{
	(void)state;
	static const struct code alpha = {64, false, 0x9026, BYTES("\x90")};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	const char *name = NULL, *syntax = NULL;
	assert_int_equal(disassemble(&alpha, (struct ux_code_range){0x1000, 1}, &out, &err),
			 UX_EUNSUPPORTED);
	assert_string_equal(err.text, "no disassembler for machine 36902");
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(disassemble(&x86, (struct ux_code_range){0x2000, 1}, &out, &err),
			 UX_ENOTFOUND);
	assert_string_equal(err.text, "the file has no code at 0x2000");
	assert_int_equal(out.size, 0);
	assert_false(ux_code_machine(0x9026, &name, &syntax));
	assert_true(ux_code_machine(EM_S390, &name, &syntax));
	assert_string_equal(name, "s390x");
	assert_string_equal(syntax, "z/Architecture");
}

UX_SUITE(disassemble)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(code_of_each_machine_is_read),
		UX_TEST(what_an_instruction_refers_to_is_reported),
		UX_TEST(x86_has_two_syntaxes),
		UX_TEST(an_odd_address_means_thumb_on_arm_alone),
		UX_TEST(instructions_that_begin_in_the_range_are_read_whole),
		UX_TEST(bytes_that_are_no_instruction_are_reported),
		UX_TEST(what_cannot_be_read_is_reported),
	};
	if (ux_capstone_load(&calls, NULL) != UX_OK)
		fail_msg("libcapstone, which the build needs, cannot be loaded");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
