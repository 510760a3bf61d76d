/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of the tables that stripped files still have: stubs, frames, compressed symbols. */
#include "make_corpus.h"

#include "make_elf.h"
#include "make_frames.h"
#include "make_stubs.h"

static void make_plt_seeds(void)
{
	struct make_elf m;
	for (size_t i = 0; i < make_stubs_count; i++) {
		save_seed("elf_plt", make_stubs_shapes[i].name,
			  make_stubs_file(&m, &make_stubs_shapes[i]));
		make_elf_deinit(&m);
	}
	save_seed("elf_plt", "chosen",
		  make_stubs_chosen(&m, &make_stubs_shapes[0], 37, 0x1500, /* named= */ true));
	make_elf_deinit(&m);
}

/* kind: as fuzz_dwarf_frame.c takes it from the first byte. */
static void make_frame_seed(const char *name, uint8_t kind, const char *augmentation,
			    uint8_t version, bool wide)
{
	struct make_frames f;
	struct ux_out out = {0};
	make_frames_init(&f, (kind & 4) != 0, (kind & 2) != 0, 0x4000);
	f.eh = (kind & 1) != 0;
	f.version = version;
	f.is_wide = wide;
	make_frames_cie(&f, augmentation);
	make_frames_fde(&f, 0x1000, 0x10);
	make_frames_fde(&f, 0x1020, 0x20);
	make_frames_end(&f);
	ux_out_u8(&out, kind);
	ux_out_put(&out, f.out.data, f.out.size);
	save_seed("dwarf_frame", name, ux_out_bytes(&out));
	ux_out_deinit(&out);
	make_frames_deinit(&f);
}

/* Tables of two functions, and a stack of them: by rules, by expressions, by frame pointers. */
static void make_unwind_seed(const char *name, uint8_t options, struct ux_bytes instructions)
{
	static const uint8_t initial[] = {0x0c, 7, 8, 0x80 | 16, 1};
	const uint64_t words[] = {0x1010, 0x1028, 0x7ff0028, 0x1010, 0, 0x1024, 0x7ff0038, 0};
	struct make_frames f;
	struct ux_out out = {0};
	make_frames_init(&f, (options & 16) == 0, (options & 2) != 0, 0x4000);
	f.eh = (options & 1) != 0;
	f.initial = ux_bytes(initial, sizeof(initial));
	make_frames_cie(&f, "zRS");
	f.instructions = instructions;
	make_frames_fde(&f, 0x1000, 0x20);
	make_frames_fde(&f, 0x1020, 0x20);
	ux_out_u8(&out, options);
	ux_out_u8(&out, 1);
	ux_out_u8(&out, (uint8_t)f.out.size);
	ux_out_u8(&out, (uint8_t)(f.out.size >> 8));
	ux_out_put(&out, f.out.data, f.out.size);
	ux_out_put(&out, words, sizeof(words));
	save_seed("unwind", name, ux_out_bytes(&out));
	ux_out_deinit(&out);
	make_frames_deinit(&f);
}

static void make_unwind_seeds(void)
{
	static const uint8_t framed[] = {0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x43, 0x0d, 6, 0x42, 0x0b};
	static const uint8_t computed[] = {0x0f, 11,   0x77, 8,    0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a,
					   0x33, 0x24, 0x22, 0x16, 6,    3, 0x77, 8,    0x06};
	static const uint8_t looping[] = {0x16, 6, 3, 0x2f, 0xfd, 0xff};
	make_unwind_seed("framed", 1, ux_bytes(framed, sizeof(framed)));
	make_unwind_seed("framed_debug", 0, ux_bytes(framed, sizeof(framed)));
	make_unwind_seed("swapped", 3, ux_bytes(framed, sizeof(framed)));
	make_unwind_seed("computed", 1, ux_bytes(computed, sizeof(computed)));
	make_unwind_seed("looping", 1, ux_bytes(looping, sizeof(looping)));
	make_unwind_seed("arm64", 5, ux_bytes(framed, sizeof(framed)));
	make_unwind_seed("half", 9, ux_bytes(framed, sizeof(framed)));
	make_unwind_seed("i386", 17, ux_bytes(framed, sizeof(framed)));
	make_unwind_seed("i386_computed", 17, ux_bytes(computed, sizeof(computed)));
	make_unwind_seed("arm", 21, ux_bytes(framed, sizeof(framed)));
}

/* Makes a function in .ARM.exidx with the given second word, and words of .ARM.extab after it. */
static void make_exidx_seed(const char *name, bool big, uint32_t word, const uint32_t *table,
			    size_t n)
{
	struct ux_out out = {.swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)};
	ux_out_u8(&out, big);
	ux_out_u8(&out, 1);
	ux_out_u32(&out, 0x7fff8000);
	ux_out_u32(&out, word);
	for (size_t i = 0; i < n; i++)
		ux_out_u32(&out, table[i]);
	save_seed("exidx", name, ux_out_bytes(&out));
	ux_out_deinit(&out);
}

static void make_exidx_seeds(void)
{
	enum {
		BEHIND = 4 /* the distance from the second word to the table */
	};
	static const uint32_t longer[] = {0x8102b108, 0x84808900, 0xb20181b0};
	static const uint32_t language[] = {0x100, 0x01b400b2, 0x01a8b0b0};
	static const uint32_t signal[] = {0x8101b10f, 0x8fffb0b0};
	uint32_t largest[256] = {0x82ff3f3f};
	for (size_t i = 1; i < ux_countof(largest); i++)
		largest[i] = 0x3f3f3f3f;
	make_exidx_seed("inline", false, 0x80a8b0b0, NULL, 0);
	make_exidx_seed("none", false, 1, NULL, 0);
	make_exidx_seed("longer", false, BEHIND, longer, ux_countof(longer));
	make_exidx_seed("language", false, BEHIND, language, ux_countof(language));
	make_exidx_seed("signal", true, BEHIND, signal, ux_countof(signal));
	make_exidx_seed("largest", false, BEHIND, largest, ux_countof(largest));
	save_seed("exidx", "nothing", UX_BYTES_NONE);
}

static void make_debugdata_seeds(void)
{
	struct ux_out packed = {0};
	struct make_elf inner, outer;
	make_xz(&packed, UX_STR("the quick brown fox jumps over the lazy dog"), 4096);
	save_seed("elf_debugdata", "stream", ux_out_bytes(&packed));
	ux_out_reset(&packed);
	make_elf_init(&inner, 64, false);
	make_elf_symbol(&inner, (struct make_symbol){.name = "hidden", .value = 0x10, .type = 2});
	make_xz(&packed, make_elf_finish(&inner), 4096);
	make_elf_init(&outer, 64, false);
	make_elf_section(&outer, (struct make_section){.name = ".gnu_debugdata",
						       .content = ux_out_bytes(&packed)});
	save_seed("elf_debugdata", "file", make_elf_finish(&outer));
	make_elf_deinit(&outer);
	make_elf_deinit(&inner);
	ux_out_deinit(&packed);
}

void make_stripped_corpus(void)
{
	make_plt_seeds();
	make_frame_seed("eh-64", 1 | 4, "zR", 1, false);
	make_frame_seed("eh-32", 1, "zPLR", 1, false);
	make_frame_seed("eh-64-big", 1 | 2 | 4, "zRS", 1, false);
	make_frame_seed("eh-64-wide", 1 | 4, "zR", 1, true);
	make_frame_seed("eh-plain", 1 | 4, "eh", 1, false);
	make_frame_seed("debug-64", 4, "", 4, false);
	make_frame_seed("debug-32-wide", 0, "", 3, true);
	make_debugdata_seeds();
	make_unwind_seeds();
	make_exidx_seeds();
}
