/* SPDX-License-Identifier: Apache-2.0 */
/* crash: the forms of lines, each as its writer prints it. */
#include "sweep.h"

#include "crash_line.h"

#define ID "93ac61ec5a8eb1396f9fbd350e3169a558528a40"

/* The expected parse of a line. */
struct expected {
	const char *line;
	enum ux_crash_form form;
	enum ux_crash_origin origin;
	uint64_t offset;
	const char *module, *symbol, *id;
	uint64_t address;
	bool returns, located;
};

static bool slice_is(struct ux_bytes s, const char *text)
{
	return ux_bytes_eq(s, ux_bytes_cstr(text));
}

/* Reads a text of one frame, which may be in the middle of a stack. */
static void check_frame(const struct expected *e, const char *text)
{
	struct ux_crash_reader r = {0};
	struct ux_crash_line line;
	struct ux_bytes left = ux_bytes_cstr(text), whole;
	struct ux_crash_frame f = {0};
	size_t n = 0;
	while (ux_crash_next(&r, &left, &whole, &line))
		if (line.n > 0) {
			f = line.frames[line.n - 1];
			n += line.n;
		}
	if (n == 0 || f.form != e->form || f.origin != e->origin || f.offset != e->offset ||
	    !slice_is(f.module, e->module) || !slice_is(f.symbol, e->symbol) ||
	    !slice_is(f.id, e->id) || (f.has_address ? f.address : 0) != e->address ||
	    f.returns != e->returns || f.located != e->located)
		fail_msg("%s: %zu frames, %s, origin %d, offset %#" PRIx64
			 ", module %.*s, symbol %.*s, id %.*s, address %#" PRIx64 "%s%s",
			 text, n, ux_crash_form_name(f.form), f.origin, f.offset,
			 (int)f.module.size, (const char *)f.module.data, (int)f.symbol.size,
			 (const char *)f.symbol.data, (int)f.id.size, (const char *)f.id.data,
			 f.address, f.returns ? ", returns" : "", f.located ? ", located" : "");
}

static void lines_are_read_as_their_writers_meant_them(void **state)
{
	(void)state;
	static const struct expected cases[] = {
		/* backtrace(3) */
		{"./prog(+0x11d1)[0x56281097c1d1]", UX_CRASH_BACKTRACE, UX_CRASH_PC, 0x11d1,
		 "./prog", "", "", 0x56281097c1d1, true, false},
		{"/lib/libc.so.6(qsort_r+0xb6) [0x7f8707]", UX_CRASH_BACKTRACE, UX_CRASH_NOWHERE, 0,
		 "/lib/libc.so.6", "qsort_r", "", 0x7f8707, true, false},
		{"./nopie[0x4011be]", UX_CRASH_BACKTRACE, UX_CRASH_NOWHERE, 0, "./nopie", "", "",
		 0x4011be, true, false},
		{"./nopie() [0x4011be]", UX_CRASH_BACKTRACE, UX_CRASH_NOWHERE, 0, "./nopie", "", "",
		 0x4011be, true, false},
		{"Nov 22 host prog[12]: /opt/x.so(f+0x1) [0x7f01]", UX_CRASH_BACKTRACE,
		 UX_CRASH_NOWHERE, 0, "/opt/x.so", "f", "", 0x7f01, true, false},
		/* sanitizers, whose addresses already lie inside the calls */
		{"    #1 0x55d5d2a  (/tmp/prog+0x113d) (BuildId: " ID ")", UX_CRASH_SANITIZER,
		 UX_CRASH_PC, 0x113d, "/tmp/prog", "", ID, 0x55d5d2a, false, false},
		{"    #1 0x55d5d2a in ?? (/tmp/prog+0x113d)", UX_CRASH_SANITIZER, UX_CRASH_PC,
		 0x113d, "/tmp/prog", "", "", 0x55d5d2a, false, false},
		{"#2 0x7f in f(int, char) (/a b/x.so+0x10)", UX_CRASH_SANITIZER, UX_CRASH_PC, 0x10,
		 "/a b/x.so", "f(int, char)", "", 0x7f, false, false},
		{"    #0 0x55 in main /src/prog.c:15:3", UX_CRASH_SANITIZER, UX_CRASH_NOWHERE, 0,
		 "", "main", "", 0x55, false, true},
		{"    #0 writer /tmp/r.c:5 (r+0x1186)", UX_CRASH_SANITIZER, UX_CRASH_PC, 0x1186,
		 "r", "writer", "", 0, false, true},
		{"    #0 <null> <null> (r+0x1186)", UX_CRASH_SANITIZER, UX_CRASH_PC, 0x1186, "r",
		 "", "", 0, false, false},
		{"SUMMARY: AddressSanitizer: SEGV (/tmp/p+0x1323) ", UX_CRASH_SANITIZER,
		 UX_CRASH_PC, 0x1323, "/tmp/p", "", "", 0, false, false},
		/* gdb */
		{"#0  0x00005555555551ea in ?? ()", UX_CRASH_GDB, UX_CRASH_NOWHERE, 0, "", "", "",
		 0x5555555551ea, false, false},
		{"#3  0x00007ffff7e1 in ?? () from /lib/x.so", UX_CRASH_GDB, UX_CRASH_NOWHERE, 0,
		 "/lib/x.so", "", "", 0x7ffff7e1, true, false},
		{"#3  0x00007ffff7e1 in raise () from /lib/x.so", UX_CRASH_GDB, UX_CRASH_NOWHERE, 0,
		 "/lib/x.so", "raise", "", 0x7ffff7e1, true, false},
		{"#4  0x7f in f (n=2, b=0x7f) at ./stdlib/msort.c:44", UX_CRASH_GDB,
		 UX_CRASH_NOWHERE, 0, "", "f", "", 0x7f, true, true},
		{"#5  g (p=p@entry=0x7f) at ./m.c:53", UX_CRASH_GDB, UX_CRASH_NOWHERE, 0, "", "g",
		 "", 0, false, true},
		{"#1  <signal handler called>\n#2  0x55 in ?? ()", UX_CRASH_GDB, UX_CRASH_NOWHERE,
		 0, "", "", "", 0x55, false, false},
		/* systemd-coredump */
		{"#1  0x00007f0d9029d90a n/a (libc.so.6 + 0x29d90)", UX_CRASH_COREDUMP,
		 UX_CRASH_START, 0x29d90, "libc.so.6", "", "", 0x7f0d9029d90a, true, false},
		{"Nov 22 host systemd-coredump[3]:   #0  0x55 main (prog + 0x1139)",
		 UX_CRASH_COREDUMP, UX_CRASH_START, 0x1139, "prog", "main", "", 0x55, false, false},
		{"#3 0x1 __restore_rt (libc.so.6 + 0x1)\n#4 0x2 n/a (p + 0x2)", UX_CRASH_COREDUMP,
		 UX_CRASH_START, 2, "p", "", "", 2, false, false},
		/* eu-stack */
		{"#3  0x00007ffff7e11bf4 msort_with_tmp.part.0", UX_CRASH_ELFUTILS,
		 UX_CRASH_NOWHERE, 0, "", "msort_with_tmp.part.0", "", 0x7ffff7e11bf4, true, false},
		{"#1  0x0000555555 - 1 - /tmp/prog", UX_CRASH_ELFUTILS, UX_CRASH_NOWHERE, 0,
		 "/tmp/prog", "", "", 0x555555, true, false},
		{"#3  0x7ff - 1 msort - libc.so.6\n    [" ID "]@0x7ff000+0x3fbf3",
		 UX_CRASH_ELFUTILS, UX_CRASH_START, 0x3fbf3, "libc.so.6", "msort", ID, 0, false,
		 false},
		/* Go */
		{"main.outer({0xc0?, 0x0?}, 0x0?)\n\t/tmp/p.go:4 +0x31 fp=0x1 sp=0x2 pc=0x460631",
		 UX_CRASH_GO, UX_CRASH_NOWHERE, 0, "", "main.outer", "", 0x460631, true, true},
		{"created by main.main in goroutine 1\n\t/tmp/p.go:6 +0x6a", UX_CRASH_GO,
		 UX_CRASH_NOWHERE, 0, "", "main.main", "", 0, true, true},
		{"[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x45f4c6]",
		 UX_CRASH_GO, UX_CRASH_NOWHERE, 0, "", "", "", 0x45f4c6, false, false},
		/* Rust */
		{"   3:     0x55a2bf4b0d34 - <unknown>", UX_CRASH_RUST, UX_CRASH_NOWHERE, 0, "", "",
		 "", 0x55a2bf4b0d34, true, false},
		{"  17:     0x7fc2 - main\n                at ./csu/start.h:58:16", UX_CRASH_RUST,
		 UX_CRASH_NOWHERE, 0, "", "main", "", 0x7fc2, true, true},
		{"   3: p::outer\n             at ./p.rs:2:40", UX_CRASH_RUST, UX_CRASH_NOWHERE, 0,
		 "", "p::outer", "", 0, false, true},
		/* Linux */
		{"[   12.3] RIP: 0010:nfs_get+0x12/0x30 [nfs]", UX_CRASH_KERNEL, UX_CRASH_NOWHERE,
		 0, "nfs", "nfs_get", "", 0, false, false},
		{" ? do_syscall_64+0x3b/0x90", UX_CRASH_KERNEL, UX_CRASH_NOWHERE, 0, "vmlinux",
		 "do_syscall_64", "", 0, true, false},
		{" ext4_x+0x1/0x2 [ext4 " ID "]", UX_CRASH_KERNEL, UX_CRASH_NOWHERE, 0, "ext4",
		 "ext4_x", ID, 0, true, false},
		{" [<ffffffff81234567>] vfs_read+0x9a/0x160", UX_CRASH_KERNEL, UX_CRASH_NOWHERE, 0,
		 "vmlinux", "vfs_read", "", 0xffffffff81234567, true, false},
		{"pc : __arm64+0x1c/0x40", UX_CRASH_KERNEL, UX_CRASH_NOWHERE, 0, "vmlinux",
		 "__arm64", "", 0, false, false},
		/* Linux's lines about programs, from newer and older kernels */
		{"[1.2] prog[7]: segfault at 0 ip 00005642f6a11189 sp 00007ffe2a1b2c30 error 4 in "
		 "lib x.so[1189,5642f6a11000+1000] likely on CPU 1 (core 1, socket 0)",
		 UX_CRASH_FAULT, UX_CRASH_FILE, 0x1189, "lib x.so", "", "", 0x5642f6a11189, false,
		 false},
		{"prog[7]: segfault at 0 ip 00007f0000001189 sp 00007ffe2a1b2c30 error 4 in "
		 "libx.so[7f0000001000+1000]",
		 UX_CRASH_FAULT, UX_CRASH_NOWHERE, 0, "libx.so", "", "", 0x7f0000001189, false,
		 false},
		{"traps: prog[77] trap divide error ip:5642f6a111d3 sp:7ffe2a1b2c30 error:0 in "
		 "prog[11d3,5642f6a11000+1000]",
		 UX_CRASH_FAULT, UX_CRASH_FILE, 0x11d3, "prog", "", "", 0x5642f6a111d3, false,
		 false},
		/* Java */
		{"# C  [libc.so.6+0x85f14]", UX_CRASH_JAVA, UX_CRASH_START, 0x85f14, "libc.so.6",
		 "", "", 0, false, false},
		{"C  [a.so+0x1]\nV  [libjvm.so+0xa1]  Foo::bar(int)+0x123", UX_CRASH_JAVA,
		 UX_CRASH_START, 0xa1, "libjvm.so", "Foo::bar(int)", "", 0, true, false},
		{"C  [a.so+0x1]\nj  Foo.main([Ljava/lang/String;)V+5", UX_CRASH_JAVA,
		 UX_CRASH_NOWHERE, 0, "", "Foo.main([Ljava/lang/String;)V+5", "", 0, true, true},
		/* Android and macOS */
		{"      #00 pc 000000000004ba2c  /system/lib64/libc.so (abort+168) (BuildId: " ID
		 ")",
		 UX_CRASH_ANDROID, UX_CRASH_PC, 0x4ba2c, "/system/lib64/libc.so", "abort", ID, 0,
		 false, false},
		{"#00 pc 0004ba2c", UX_CRASH_ANDROID, UX_CRASH_PC, 0x4ba2c, "", "", "", 0, false,
		 false},
		{"1   libfoo.dylib   0x00007fff2039 0x7fff20387000 + 28634", UX_CRASH_APPLE,
		 UX_CRASH_START, 28634, "libfoo.dylib", "", "", 0x7fff2039, true, false},
		{"0   prog   0x0000000100003f6c main + 12", UX_CRASH_APPLE, UX_CRASH_NOWHERE, 0,
		 "prog", "main", "", 0x100003f6c, false, false},
		/* perf script */
		/* valgrind: its callers already lie inside the call, and programs have one place */
		{"==4593==    at 0x109162: ??? (in /tmp/cr/as)", UX_CRASH_VALGRIND, UX_CRASH_START,
		 0x1162, "/tmp/cr/as", "", "", 0x109162, false, false},
		{"==4593==    by 0x48417B4: malloc (in /usr/libexec/valgrind/vg.so)",
		 UX_CRASH_VALGRIND, UX_CRASH_NOWHERE, 0, "/usr/libexec/valgrind/vg.so", "malloc",
		 "", 0x48417b4, false, false},
		{"host ==12==    by 0x4885249: (below main) (libc_start_call_main.h:58)",
		 UX_CRASH_VALGRIND, UX_CRASH_NOWHERE, 0, "", "(below main)", "", 0x4885249, false,
		 true},
		{"==1==    by 0x48: f(int)+0x1d (in /lib/x.so)", UX_CRASH_VALGRIND,
		 UX_CRASH_NOWHERE, 0, "/lib/x.so", "f(int)", "", 0x48, false, false},
		{"==1==    by 0x1FFF000607: ???", UX_CRASH_VALGRIND, UX_CRASH_NOWHERE, 0, "", "",
		 "", 0x1fff000607, false, false},
		/* faulthandler of Python 3.14 */
		{"  Binary file \"/usr/bin/python3\", at PyEval_Eval+0x12 [0x55d5d2a]",
		 UX_CRASH_PYTHON, UX_CRASH_NOWHERE, 0, "/usr/bin/python3", "PyEval_Eval", "",
		 0x55d5d2a, true, false},
		{"  Binary file \"/lib/libc.so.6\", at +0x3c050 [0x7f0050]", UX_CRASH_PYTHON,
		 UX_CRASH_PC, 0x3c050, "/lib/libc.so.6", "", "", 0x7f0050, true, false},
		{"  Binary file \"/lib/x.so\" [0x7f0050]", UX_CRASH_PYTHON, UX_CRASH_NOWHERE, 0,
		 "/lib/x.so", "", "", 0x7f0050, true, false},
		{"    0x7f0050 (libfast.so)", UX_CRASH_PYSPY, UX_CRASH_NOWHERE, 0, "libfast.so", "",
		 "", 0x7f0050, false, false},
		{"\t    29d90 [unknown] (/usr/lib/libc.so.6)", UX_CRASH_PERF, UX_CRASH_FILE,
		 0x29d90, "/usr/lib/libc.so.6", "", "", 0, false, false},
		{"\tffffffff81234567 vfs_read+0x9a ([kernel.kallsyms])", UX_CRASH_PERF,
		 UX_CRASH_NOWHERE, 0xffffffff81234567, "[kernel.kallsyms]", "vfs_read", "",
		 0xffffffff81234567, false, false},
		/* only IDs, files and addresses */
		{"gnu:" ID " 0x29d90", UX_CRASH_PLAIN, UX_CRASH_UNSAID, 0x29d90, "", "", "gnu:" ID,
		 0x29d90, false, false},
		{"0x29d90", UX_CRASH_PLAIN, UX_CRASH_UNSAID, 0x29d90, "", "", "", 0x29d90, false,
		 false},
		{"171664", UX_CRASH_PLAIN, UX_CRASH_UNSAID, 171664, "", "", "", 171664, false,
		 false},
		{"29d9c", UX_CRASH_PLAIN, UX_CRASH_UNSAID, 0x29d9c, "", "", "", 0x29d9c, false,
		 false},
		{"[0x1139]", UX_CRASH_PLAIN, UX_CRASH_UNSAID, 0x1139, "", "", "", 0x1139, false,
		 false},
		{"/usr/lib/libc.so.6+0x29d90", UX_CRASH_PLAIN, UX_CRASH_PC, 0x29d90,
		 "/usr/lib/libc.so.6", "", "", 0, false, false},
	};
	for (size_t i = 0; i < ux_countof(cases); i++)
		check_frame(&cases[i], cases[i].line);
}

static void lines_of_other_kinds_have_no_frames(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"",
		"Program terminated with signal 11",
		"main 12",
		"Build of 0xzz +0x + 0x",
		"+0x10",
		"BuildId: nothex",
		"0x11112222333344445",
		"#1",
		"#x 0x10 in f ()",
		"==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x55 bp 0x7f sp 0x7f T0)",
		"  0x0c047fff7fb0: 00 00 00 00",
		"RAX=0x00000000000000ca, RBX=0x0000000000000000",
		"Code: 48 8b <0f> 05",
		"  20:                0x0 - <unknown>",
		"3: apples",
		"time 12:30:05",
		"prog[7]: segfault at 0 ip 0000000000000000 sp 00007ffe2a1b2c30 error 14",
		"prog[7]: segfault at 0 ip 0000564200001189 sp 0 error 4 in [5642f6a11000+1000]",
		"prog[7]: segfault at 0 ip 0000564200001189 sp 0 error 4 in x[5642f6a11000",
		"a zip 12 in x[12+z]",
		"a+0x1/b",
		"+0x1/0x2",
	};
	for (size_t i = 0; i < ux_countof(lines); i++) {
		struct ux_crash_reader r = {0};
		struct ux_crash_line line = {0};
		struct ux_bytes left = ux_bytes_cstr(lines[i]), whole;
		(void)ux_crash_next(&r, &left, &whole, &line);
		if (line.n > 0)
			fail_msg("%s: %s", lines[i], ux_crash_form_name(line.frames[0].form));
	}
}

static void a_kernel_frame_has_its_symbols_offset_and_size(void **state)
{
	(void)state;
	struct ux_crash_reader r = {0};
	struct ux_crash_line line;
	struct ux_bytes left = UX_STR(" ? func+0x37e/0xac0 [module]"), whole;
	assert_true(ux_crash_next(&r, &left, &whole, &line));
	assert_int_equal(line.n, 1);
	assert_true(line.frames[0].has_symbol_offset && line.frames[0].doubtful);
	assert_int_equal(line.frames[0].symbol_offset, 0x37e);
	assert_int_equal(line.frames[0].symbol_size, 0xac0);
}

static void several_addresses_of_a_line_are_frames_up_to_a_limit(void **state)
{
	(void)state;
	char text[1024] = "";
	struct ux_crash_reader r = {0};
	struct ux_crash_line line;
	size_t n = 0;
	for (int i = 0; i <= UX_CRASH_FRAMES_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%#x ", i + 1);
	struct ux_bytes left = ux_bytes(text, n), whole;
	assert_true(ux_crash_next(&r, &left, &whole, &line));
	assert_int_equal(line.n, UX_CRASH_FRAMES_MAX);
	assert_true(line.more);
	assert_int_equal(line.frames[1].offset, 2);
}

static void a_line_over_the_limit_has_no_frames_and_is_passed_over(void **state)
{
	(void)state;
	static char text[UX_CRASH_LINE_MAX + 64];
	static const char tail[] = " gnu:" ID " 0x10\n0x20\n";
	memset(text, ' ', sizeof(text));
	memcpy(text + sizeof(text) - sizeof(tail) + 1, tail, sizeof(tail) - 1);
	struct ux_crash_reader r = {0};
	struct ux_crash_line line;
	struct ux_bytes left = ux_bytes(text, sizeof(text)), whole;
	assert_true(ux_crash_next(&r, &left, &whole, &line));
	assert_int_equal(line.n, 0);
	assert_true(ux_crash_next(&r, &left, &whole, &line));
	assert_int_equal(line.n, 1);
	assert_false(ux_crash_next(&r, &left, &whole, &line));
}

static void native_frames_of_py_spy_are_callers_unless_they_begin_a_stack(void **state)
{
	(void)state;
	static const char text[] = "Process 12: python3 a.py\n"
				   "Python v3.11.2 (/usr/bin/python3.11)\n\n"
				   "Thread 12 (active+gil): \"MainThread\"\n"
				   "    0x7f12 (libfast.so)\n"
				   "    work (a.py:12)\n"
				   "    0x55d5 (?)\n"
				   "    PyGILState_Ensure (libpython3.11.so.1.0)\n"
				   "Thread 0x7F13 (idle)\n"
				   "    wait (threading.py:320)\n"
				   "    0x7f20 (libfast.so)\n";
	static const struct {
		const char *module, *symbol;
		uint64_t address;
		bool returns, located;
	} expected[] = {
		{"libfast.so", "", 0x7f12, false, false},
		{"", "work", 0, true, true},
		{"", "", 0x55d5, true, false},
		{"libpython3.11.so.1.0", "PyGILState_Ensure", 0, true, false},
		{"", "wait", 0, false, true},
		{"libfast.so", "", 0x7f20, true, false},
	};
	struct ux_crash_reader r = {0};
	struct ux_crash_line line;
	struct ux_bytes left = ux_bytes_cstr(text), whole;
	size_t n = 0;
	while (ux_crash_next(&r, &left, &whole, &line)) {
		if (line.n == 0)
			continue;
		assert_in_range(n, 0, ux_countof(expected) - 1);
		const struct ux_crash_frame *f = &line.frames[0];
		assert_int_equal(f->form, UX_CRASH_PYSPY);
		assert_true(slice_is(f->module, expected[n].module));
		assert_true(slice_is(f->symbol, expected[n].symbol));
		assert_int_equal(f->has_address ? f->address : 0, expected[n].address);
		assert_int_equal(f->returns, expected[n].returns);
		assert_int_equal(f->located, expected[n].located);
		n++;
	}
	assert_int_equal(n, ux_countof(expected));
}

/* The frames of a text: "rust:0x55a2 go:main.f " */
static const char *frames_of(const char *prefix, const char *const *lines)
{
	static char text[4096], frames[1024];
	struct ux_crash_reader r = {0};
	struct ux_crash_line line;
	size_t size = 0, n = 0;
	for (; *lines; lines++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s\r\n", prefix,
					 *lines);
	struct ux_bytes left = ux_bytes(text, size), whole;
	frames[0] = '\0';
	while (ux_crash_next(&r, &left, &whole, &line)) {
		assert_true(ux_bytes_starts(whole, ux_bytes_cstr(prefix)));
		for (size_t i = 0; i < line.n; i++) {
			const struct ux_crash_frame *f = &line.frames[i];
			n += (size_t)snprintf(frames + n, sizeof(frames) - n,
					      "%s:%" PRIx64 "%.*s%s ", ux_crash_form_name(f->form),
					      f->address, (int)f->symbol.size,
					      (const char *)f->symbol.data, f->located ? "*" : "");
		}
		if (line.fact != UX_CRASH_NO_FACT)
			n += (size_t)snprintf(frames + n, sizeof(frames) - n, "fact%d ", line.fact);
	}
	return frames;
}

static void prefixes_of_logs_and_mails_are_no_part_of_a_line(void **state)
{
	(void)state;
	static const char *const prefixes[] = {
		"> ",
		">> ",
		"Nov 22 20:58:13 host app[12]: ",
		"Nov  2 20:58:13 host kernel: ",
		"Nov 22 20:58:13.123456 host app[12]: ",
		"2026-11-22T20:58:13+0100 host app[12]: ",
		"2026-11-22T20:58:13.123456789Z ",
		"2026-11-22 20:58:13,123 ",
		"2026-11-22T20:58:13.123456789Z stderr F ",
		"web-1  | ",
		"web-1  | 2026-11-22T20:58:13.123456789Z ",
		"    ",
	};
	static const char *const text[] = {
		"goroutine 1 [running]:",
		"main.outer(...)",
		"\t/src/panic.go:4",
		"main.main()",
		"\t/src/panic.go:6 +0x1d",
		"",
		"   3:     0x55a2 - core::panicking::panic_fmt",
		"                at /rustc/x/panicking.rs:72:14",
		"   4:     0x55a3 - <unknown>",
		"C  [libjvm.so+0x10]  f+0x1",
		"#1  0x55a4 in ?? ()",
		"55a000-55b000 r-xp 00001000 fe:00 12    /tmp/prog",
		NULL,
	};
	const char expected[] =
		"go:0main.outer* go:0main.main* rust:55a2core::panicking::panic_fmt* rust:55a3 "
		"java:0f gdb:55a4 fact3 ";
	assert_string_equal(frames_of("", text), expected);
	for (size_t i = 0; i < ux_countof(prefixes); i++)
		assert_string_equal(frames_of(prefixes[i], text), expected);
}

static void what_resembles_a_prefix_stays(void **state)
{
	(void)state;
	static const char *const text[] = {"2026-11-22T20:58:13Z #0  0x55a4 in f () from /x.so",
					   "Nov 22 20:58:13 #1  0x55a5 in g () from /x.so", NULL};
	assert_string_equal(frames_of("", text), "gdb:55a4f gdb:55a5g ");
}

static void facts_are_mappings_identities_and_releases(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		enum ux_crash_fact fact;
		const char *module, *id;
		uint64_t start, end, off;
	} cases[] = {
		{"7fc2ee0d2000-7fc2ee228000 r-xp 00026000 fe:00 332835     /usr/lib/libc.so.6",
		 UX_CRASH_MAPPING, "/usr/lib/libc.so.6", "", 0x7fc2ee0d2000, 0x7fc2ee228000,
		 0x26000},
		{"7fc2ee0a9000-7fc2ee0ac000 rw-p 00000000 00:00 0 ", UX_CRASH_MAPPING, "", "",
		 0x7fc2ee0a9000, 0x7fc2ee0ac000, 0},
		{"      0x555555555000     0x555555556000     0x1000     0x2000  r-xp   /tmp/prog",
		 UX_CRASH_MAPPING, "/tmp/prog", "", 0x555555555000, 0x555555556000, 0x2000},
		{"                Module libc.so.6 with build-id " ID, UX_CRASH_MODULE, "libc.so.6",
		 ID, 0, 0, 0},
		{"CPU: 3 PID: 1 Comm: x Not tainted 6.1.0-18-amd64 #1  Debian 6.1.76-1",
		 UX_CRASH_RELEASE, "6.1.0-18-amd64", "", 0, 0, 0},
		{"0x100000000 - 0x100003fff +prog (1.0) <" ID "> /tmp/prog", UX_CRASH_IMAGE, "prog",
		 ID, 0x100000000, 0x100004000, 0},
		{"gnu:" ID, UX_CRASH_CURRENT, "", "gnu:" ID, 0, 0, 0},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_crash_reader r = {0};
		struct ux_crash_line line = {0};
		struct ux_bytes left = ux_bytes_cstr(cases[i].line), whole;
		assert_true(ux_crash_next(&r, &left, &whole, &line));
		if (line.fact != cases[i].fact || !slice_is(line.module, cases[i].module) ||
		    !slice_is(line.id, cases[i].id))
			fail_msg("%s: fact %d, module %.*s", cases[i].line, line.fact,
				 (int)line.module.size, (const char *)line.module.data);
		if (cases[i].start > 0) {
			assert_int_equal(line.start, cases[i].start);
			assert_int_equal(line.end, cases[i].end);
			assert_int_equal(line.off, cases[i].off);
		}
		assert_int_equal(line.n, 0);
	}
}

static void a_text_is_a_report_if_a_line_has_the_form_of_one(void **state)
{
	(void)state;
	struct ux_bytes frame;
	assert_true(ux_crash_is(UX_STR("hello\n#0  0x55 in ?? ()\n"), &frame));
	assert_true(slice_is(frame, "#0  0x55 in ?? ()\n"));
	assert_false(ux_crash_is(UX_STR("hello\n0x55\n/lib/x.so+0x12\n"), NULL));
	assert_false(ux_crash_is(ux_bytes("\0\n#0  0x55 in ?? ()\n", 20), NULL));
	assert_false(ux_crash_is(UX_STR(""), NULL));
}

static void read_all(struct ux_bytes text, void *ctx)
{
	struct ux_crash_reader r = {0};
	struct ux_crash_line line;
	struct ux_bytes left = text, whole;
	size_t sum = 0;
	(void)ctx;
	while (ux_crash_next(&r, &left, &whole, &line)) {
		assert_true(line.n <= UX_CRASH_FRAMES_MAX);
		sum += whole.size;
	}
	assert_int_equal(sum, text.size);
}

static void no_line_is_read_past_its_end(void **state)
{
	(void)state;
	static const char text[] =
		"#00 pc 0004ba2c /a/libc.so (abort+0x12) (BuildId: " ID ") (prog + 0x10)\n"
		"./p(+0x1) [0x1]\n#1 0x1 - 1 x - y\n [" ID "]@0x1+0x2\nf()\n\t/x.go:1 +0x2 pc=0x3\n"
		" 3: 0x1 - x\n   at a.rs:1:2\n? f+0x1/0x2 [m " ID "]\nV  [l.so+0x1]  f+0x2\n"
		"7fc2-7fc3 r-xp 00026000 fe:00 3 /x\n0x1000 0x2000 0x1000 0x0 r-xp /y\n"
		"1 a 0x1 0x1 + 2\n\t 29d90 x+0x1 (/x)\nModule x with build-id " ID "\n";
	each_prefix(ux_bytes_cstr(text), read_all, NULL);
	each_byte_extreme(ux_bytes_cstr(text), read_all, NULL);
}

UX_SUITE(crash_line)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(lines_are_read_as_their_writers_meant_them),
		UX_TEST(lines_of_other_kinds_have_no_frames),
		UX_TEST(a_kernel_frame_has_its_symbols_offset_and_size),
		UX_TEST(several_addresses_of_a_line_are_frames_up_to_a_limit),
		UX_TEST(a_line_over_the_limit_has_no_frames_and_is_passed_over),
		UX_TEST(native_frames_of_py_spy_are_callers_unless_they_begin_a_stack),
		UX_TEST(prefixes_of_logs_and_mails_are_no_part_of_a_line),
		UX_TEST(what_resembles_a_prefix_stays),
		UX_TEST(facts_are_mappings_identities_and_releases),
		UX_TEST(a_text_is_a_report_if_a_line_has_the_form_of_one),
		UX_TEST(no_line_is_read_past_its_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
