/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of reports by a live process and its kernel: perf maps, jitdumps, symbols. */
#include "fuzz.h"
#include "make_btf.h"
#include "make_corpus.h"
#include "make_jitdump.h"

#include <libdeflate.h>
#include <lzma.h>
#include <zstd.h>

/* Saves a seed with the first byte `first`. */
static void save_text(const char *folder, const char *name, uint8_t first, const char *text)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_u8(&out, first);
	ux_out_cstr(&out, text);
	save_seed(folder, name, ux_out_bytes(&out));
}

static void make_perfmap_corpus(void)
{
	save_text("perfmap", "v8", 0,
		  "7f49340254c0 1e0 JS:*hot /path/t.js:1:13\n"
		  "2ef4ecc29426 4 JS:~get x /a b/t.js:7:1\n"
		  "18c4000 120 Builtin:ArrayMap\n");
	save_text("perfmap", "java", 0,
		  "0x00007f60f0eca920 0x00000000000000d8 int T.f(int)\n"
		  "0x00007f60f0eca940 0x0000000000000010 Interpreter\n");
	save_text("perfmap", "erlang_python_lua", 9,
		  "0x7fd4b9a22000 68 $global::apply_fun_shared\n"
		  "7f6ef772c780 c py::K.meth:/tmp/t.py\r\n"
		  "7000 40 TRACE_3::/srv/x.lua:99\n");
	save_text("perfmap", "overlaps_in_small_steps", 1,
		  "1000 100 old\n1040 20 young\n10f0 20 tail\n1000 1 point\n0 1 null\n"
		  "ffffffffffffff00 ff end\n2000 10 torn");
	save_text("perfmap", "decimal", 0,
		  "1000 99 a\n1064 99 b\n10c8 99 c\n112c 99 d\n1190 99 e\n11f4 99 f\n"
		  "1258 99 g\n12bc 99 h\n1320 99 i\n1384 99 j\n13e8 99 k\n144c 99 l\n"
		  "14b0 99 m\n1514 99 n\n1578 99 o\n15dc 99 p\n1640 99 q\n16a4 99 r\n");
	save_text("runtime_gsym", "perf_map", 0,
		  "1000 20 first\n2000 40 JS:*hot /app/t.js:7:3\n1010 8 inner\n3000 10 unfinished");
	save_text("perfmap", "bad_lines", 0,
		  "1000 0 a\n1000\n\n0x 1 a\nffffffffffffffff 2 a\n1000 10 \x1b[m\xc3\xc0\n");
}

static void make_dump(const char *name, uint8_t first, bool swap, uint32_t pad, bool padded)
{
	static const struct make_jit_row rows[] = {
		{0x40, 10, "/src/a.c"}, {0x50, 11, NULL}, {0x60, 3, "b.c"}};
	ux_cleanup(ux_out_deinit) struct ux_out out = {.swap = swap};
	ux_out_u8(&out, first);
	make_jit_header(&out, pad, 0);
	make_jit_debug(&out, 0, rows, 3, padded);
	make_jit_record(&out, 4, 60);
	make_jit_load(&out, (struct make_jit_load){1, 0, 0x80, 1, "JS:*g /x/y.js:5:6", 16});
	make_jit_load(&out, (struct make_jit_load){20, 0x100, 0x40, 2, "py::f:/t.py", 4});
	make_jit_load(&out, (struct make_jit_load){40, 0x120, 0x40, 3, "over it", 0});
	make_jit_move(&out, 50, 0x100, 0x800, 0x40, 2);
	make_jit_record(&out, 77, 4);
	make_jit_record(&out, 3, 0);
	save_seed("jitdump", name, ux_out_bytes(&out));
	out.data[0] = 1; /* a jitdump, with nothing known before */
	save_seed("runtime_gsym", name, ux_out_bytes(&out));
}

static void make_kallsyms_corpus(void)
{
	save_seed("kallsyms", "modules_and_symbols",
		  UX_STR("ext4 8192 1 - Live 0xffffffffc0100000\n"
			 "jbd2 4096 1 ext4, Live 0xffffffffc0000000 (OE)\n\n"
			 "ffffffff81000000 T _text\n"
			 "ffffffff81000000 T first\n"
			 "ffffffff81000040 t local_function\n"
			 "ffffffff81000040 T __global_function\n"
			 "ffffffff81000090 d data\n"
			 "ffffffffc0000010 t jbd2_a\t[jbd2]\n"
			 "ffffffffc0100000 t ext4_a\t[ext4]\n"
			 "ffffffffc0200000 t bpf_prog_6deef7357e7b4530_f\t[bpf]\n"));
	save_seed("kallsyms", "modules_dep",
		  UX_STR("snd_x 8192 1 - Live 0xffffffffc0100000\n\n"
			 "kernel/ext4.ko.xz: kernel/a.ko\nkernel/snd-x.ko: kernel/b.ko\n"));
	save_seed("kallsyms", "hidden", UX_STR("0000000000000000 T _text\n"));
	save_seed("kallsyms", "last_page", UX_STR("ffffffffffffff00 T a\nffffffffffffffff T b"));
	save_seed("kallsyms", "notes", UX_STR("\4\0\0\0\2\0\0\0\3\0\0\0GNU\0\253\315\0\0"));
}

static void put_array(struct ux_out *out, struct ux_bytes array)
{
	ux_out_u16(out, (uint16_t)array.size);
	ux_out_put(out, array.data, array.size);
}

/* Makes a program of two functions, twice: with and without BTF. */
static void make_bpf_corpus(void)
{
	const uint64_t starts[] = {0xffffffffc0201000, 0xffffffffc0100040};
	const uint64_t jited[] = {0xffffffffc0201000, 0xffffffffc0201030, 0xffffffffc0100044};
	const uint32_t sizes[] = {0x80, 0x40};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0}, functions = {0}, lines = {0};
	struct make_btf m;
	make_btf_init(&m);
	make_bpf_function(&functions, 0, make_btf_function(&m, "watch"));
	make_btf_others(&m);
	make_bpf_function(&functions, 6, make_btf_function(&m, "helper"));
	make_bpf_line(&lines, 0, make_btf_string(&m, "/src/x.c"), 10);
	make_bpf_line(&lines, 3, make_btf_string(&m, "y.h"), 7);
	make_bpf_line(&lines, 6, make_btf_string(&m, "/z.c"), 3);
	struct ux_bytes btf = make_btf_finish(&m);
	for (int with_btf = 1; with_btf >= 0; with_btf--) {
		ux_out_u8(&out, 0);
		put_array(&out, UX_STR("\1\2\3\4\5\6\7\10"));
		put_array(&out, UX_STR("watch\0\0\0"));
		put_array(&out, ux_bytes(starts, sizeof(starts)));
		put_array(&out, ux_bytes(sizes, sizeof(sizes)));
		put_array(&out, UX_STR("\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20"));
		put_array(&out, ux_out_bytes(&functions));
		put_array(&out, ux_out_bytes(&lines));
		put_array(&out, ux_bytes(jited, sizeof(jited)));
		put_array(&out, with_btf ? btf : UX_BYTES_NONE);
		save_seed("bpf", with_btf ? "one" : "two", ux_out_bytes(&out));
	}
	make_btf_deinit(&m);
}

static void make_maps_corpus(void)
{
	save_seed("proc_maps", "environment",
		  UX_STR("A=b\0DOTNET_PerfMapJitDumpPath=/x/\0COMPlus_PerfMapJitDumpPath=/\0"));
	save_seed("proc_maps", "all_kinds",
		  UX_STR("1000-2000 r-xp 00002000 fe:00 7 /a b\\012c (deleted)\n"
			 "2000-3000 rw-p 00000000 00:00 0 [heap]\n"
			 "3000-4000 r-xs 00000000 00:01 9 /memfd:x (deleted)\n"
			 "4000-5000 r-xp 00000000 00:00 0 \n"
			 "5000-6000 r-xp 00000000 00:00 0 [anon:v8]\n"
			 "6000-7000 r-xp 00000000 00:00 0 [vdso]\n"
			 "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"));
	save_seed(
		"proc_maps", "bad_lines",
		UX_STR("1000-1000 r-xp 0 0:0 0\n5000-6000 r-xp 0 0:0 0 /a\n5800-7000 r-xp 0 0:0 0\n"
		       "7000-8000 r-xp 0 0:0 0 /cut"));
}

static void make_packed_corpus(void)
{
	static uint8_t text[700], to[4096];
	size_t n = 0;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)("the quick brown fox "[i % 20]);
	fuzz_truth(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, text, sizeof(text), to, &n,
					   sizeof(to)) == LZMA_OK);
	save_seed("packed_file", "xz", ux_bytes(to, n));
	n = ZSTD_compress(to, sizeof(to), text, sizeof(text), 3);
	fuzz_truth(!ZSTD_isError(n));
	save_seed("packed_file", "zstd", ux_bytes(to, n));
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	n = libdeflate_gzip_compress(c, text, sizeof(text), to, sizeof(to));
	n += libdeflate_gzip_compress(c, text, sizeof(text), to + n, sizeof(to) - n);
	libdeflate_free_compressor(c);
	save_seed("packed_file", "gzip_twice", ux_bytes(to, n));
}

void make_process_corpus(void)
{
	make_packed_corpus();
	make_maps_corpus();
	make_kallsyms_corpus();
	make_bpf_corpus();
	make_perfmap_corpus();
	make_dump("plain", 0, false, 0, false);
	make_dump("v8_in_small_steps", 5, false, 0xdeadbeef, true);
	make_dump("other_byte_order", 0, true, 0, false);
}
