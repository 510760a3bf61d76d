/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of too many symbols, frames and stubs, in tables that stripped files still have. */
#include "make_hostile_kit.h"

#include "make_frames.h"

/* .gnu_debugdata of a file with n symbols, each its own function. */
static void add_packed_symbols(struct make_hostile *m, size_t n, uint32_t text_size)
{
	struct make_elf inner;
	struct ux_out packed = {0};
	make_elf_init(&inner, 64, false);
	uint32_t text = make_elf_section(&inner, (struct make_section){
							 .name = ".text",
							 .flags = SHF_ALLOC | SHF_EXECINSTR,
							 .addr = CODE,
							 .type = SHT_NOBITS,
							 .size = text_size,
						 });
	for (size_t i = 0; i < n; i++)
		make_elf_symbol(&inner, (struct make_symbol){.name = "f",
							     .value = CODE + i,
							     .size = 1,
							     .section = text,
							     .type = STT_FUNC});
	make_xz(&packed, make_elf_finish(&inner), 1 << 24);
	make_elf_section(&m->elf, (struct make_section){.name = ".gnu_debugdata",
							.content = ux_out_bytes(&packed)});
	ux_out_deinit(&packed);
	make_elf_deinit(&inner);
}

void make_hostile_packed_symbols(struct make_hostile *m)
{
	add_packed_symbols(m, 450000, CODE_SIZE); /* 11.7 MB: the limit */
	struct ux_out rest = {0};
	make_hostile_run(&rest, "filler", HALF);
	make_elf_section(&m->elf,
			 (struct make_section){.name = "x", .content = ux_out_bytes(&rest)});
	ux_out_deinit(&rest);
}

/* A stream of a gigabyte of zeros. */
void make_hostile_packed_zeros(struct make_hostile *m)
{
	struct ux_out packed = {0};
	size_t n = (size_t)64 << 20;
	uint8_t *zeros = calloc(n, 1);
	if (!zeros)
		abort();
	for (unsigned i = 0; i < 16; i++)
		make_xz(&packed, ux_bytes(zeros, n), 1 << 20);
	free(zeros);
	make_elf_section(&m->elf, (struct make_section){.name = ".gnu_debugdata",
							.content = ux_out_bytes(&packed)});
	ux_out_deinit(&packed);
}

/* Frames of a byte each, and nothing that names them. */
void make_hostile_frames(struct make_hostile *m)
{
	struct make_frames f;
	make_frames_init(&f, true, false, 0x2000000);
	make_frames_cie(&f, "zR");
	for (uint64_t i = 0; f.out.size < MAKE_HOSTILE_SIZE; i++)
		make_frames_fde(&f, CODE + i, 1);
	make_elf_section(&m->elf, (struct make_section){.name = ".eh_frame",
							.flags = SHF_ALLOC,
							.addr = 0x2000000,
							.content = ux_out_bytes(&f.out)});
	make_frames_deinit(&f);
}

/* Two CIEs alternate, so that each frame needs the other one. */
void make_hostile_frames_in_turn(struct make_hostile *m)
{
	struct make_frames f;
	make_frames_init(&f, true, false, 0x2000000);
	make_frames_cie(&f, "zPLRSBGSBGSBGSBG");
	size_t first = f.cie;
	make_frames_cie(&f, "zPLRSBGSBGSBGSBG");
	size_t second = f.cie;
	for (uint64_t i = 0; f.out.size < MAKE_HOSTILE_SIZE; i++) {
		f.cie = i % 2 ? first : second;
		make_frames_fde(&f, CODE + 16 * (i % 1000), 16);
	}
	make_elf_section(&m->elf, (struct make_section){.name = ".eh_frame",
							.flags = SHF_ALLOC,
							.addr = 0x2000000,
							.content = ux_out_bytes(&f.out)});
	make_frames_deinit(&f);
}

/* Thousands of sections, each of which claims the same relocations. */
void make_hostile_slots(struct make_hostile *m)
{
	struct ux_out relocs = {0};
	for (uint64_t i = 0; i < HALF / ELF64_RELA_SIZE; i++) {
		ux_out_u64(&relocs, 0x3000 + 8 * i);
		ux_out_u64(&relocs, UINT64_C(1) << 32 | 7);
		ux_out_u64(&relocs, 0);
	}
	for (unsigned i = 0; i < 100; i++) {
		struct ux_bytes part = ux_bytes(relocs.data, relocs.size / 50);
		make_elf_section(&m->elf, (struct make_section){.name = ".rela.plt",
								.type = SHT_RELA,
								.flags = SHF_ALLOC,
								.content = part});
	}
	ux_out_deinit(&relocs);
}
