/* SPDX-License-Identifier: Apache-2.0 */
/* web: addresses out of pasted stacks. */
#include "sweep.h"

#include "page.h"

#define ID "93ac61ec5a8eb1396f9fbd350e3169a558528a40"

static void lines_are_read_as_their_writers_meant_them(void **state)
{
	(void)state;
	static const struct {
		const char *line, *id, *name;
		size_t n;
		uint64_t pc;
	} cases[] = {
		{"", "", "", 0, 0},
		{"Program terminated with signal 11", "", "", 0, 0},
		{"gnu:" ID " 0x29d90 0x1139", "gnu:" ID, "", 2, 0x29d90},
		{"gnu:" ID, "gnu:" ID, "", 0, 0},
		{"  " ID "  ", ID, "", 0, 0},
		{"go:abc/def 0x10", "go:abc/def", "", 1, 0x10},
		{"0x29d90", "", "", 1, 0x29d90},
		{"171664", "", "", 1, 171664},
		{"29d9c", "", "", 1, 0x29d9c},
		{"main 12", "", "", 0, 0}, /* a number of something */
		{"[0x1139]", "", "", 1, 0x1139},
		{"/usr/lib/libc.so.6+0x29d90", "", "/usr/lib/libc.so.6", 1, 0x29d90},
		{"    #1 0x7f5d2a in outer /src/prog.c:15:3 (/tmp/prog+0x113d) (BuildId: " ID ")",
		 ID, "/tmp/prog", 1, 0x113d},
		{"    #1 0x7f5d2a  (/tmp/prog+0x113d)", "", "/tmp/prog", 1, 0x113d},
		{"./prog(+0x1139) [0x555555555139]", "", "./prog", 1, 0x1139},
		{"./prog(main+0x1d) [0x555555555139]", "", "", 1, 0x555555555139},
		{"#1  0x00007f0d9029d90a n/a (libc.so.6 + 0x29d90)", "", "libc.so.6", 1, 0x29d90},
		{"                #2  0x00005629 main (prog + 0x1139)", "", "prog", 1, 0x1139},
		{"      #00 pc 000000000004ba2c  /system/lib64/libc.so (abort+168) (BuildId: " ID
		 ")",
		 ID, "/system/lib64/libc.so", 1, 0x4ba2c},
		{"#00 pc 0004ba2c", "", "", 1, 0x4ba2c},
		{"Build of 0xzz +0x + 0x", "", "", 0, 0},
		{"+0x10", "", "", 0, 0},
		{"BuildId: nothex", "", "", 0, 0},
		{"0x11112222333344445", "", "", 0, 0}, /* more than an address has */
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_stack_line ask;
		ux_stack_line_parse(ux_bytes_cstr(cases[i].line), &ask);
		if (ask.n != cases[i].n || (ask.n > 0 && ask.pcs[0] != cases[i].pc) ||
		    !ux_bytes_eq(ask.id, ux_bytes_cstr(cases[i].id)) ||
		    !ux_bytes_eq(ask.name, ux_bytes_cstr(cases[i].name)))
			fail_msg("%s: id %.*s name %.*s %zu addresses, first %#" PRIx64,
				 cases[i].line, (int)ask.id.size, (const char *)ask.id.data,
				 (int)ask.name.size, (const char *)ask.name.data, ask.n,
				 ask.pcs[0]);
	}
}

static void line_with_many_addresses_keeps_the_first_and_says_so(void **state)
{
	(void)state;
	char line[1024] = "";
	struct ux_stack_line ask;
	size_t n = 0;
	for (int i = 0; i <= UX_STACK_ADDRESSES_MOST; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%#x ", i + 1);
	ux_stack_line_parse(ux_bytes(line, n), &ask);
	assert_int_equal(ask.n, UX_STACK_ADDRESSES_MOST);
	assert_true(ask.more);
	assert_int_equal(ask.pcs[1], 2);
}

static void ask_line(struct ux_bytes line, void *ctx)
{
	struct ux_stack_line ask;
	(void)ctx;
	ux_stack_line_parse(line, &ask);
	assert_true(ask.n <= UX_STACK_ADDRESSES_MOST);
}

static void no_line_is_read_past_its_end(void **state)
{
	(void)state;
	static const char line[] = "#00 pc 0004ba2c /a/libc.so (abort+0x12) (BuildId: " ID
				   ") (prog + 0x10) ./p(+0x1) 0x";
	each_prefix(ux_bytes_cstr(line), ask_line, NULL);
	each_byte_extreme(ux_bytes_cstr(line), ask_line, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(lines_are_read_as_their_writers_meant_them),
		UX_TEST(line_with_many_addresses_keeps_the_first_and_says_so),
		UX_TEST(no_line_is_read_past_its_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
