/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of the target that reads Go's tables: a program in each layout. */
#include "fuzz_gosym.h"
#include "make_corpus.h"
#include "make_go_elf.h"

static void put_le(struct ux_out *out, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		ux_out_u8(out, (uint8_t)(v >> 8 * i));
}

/* Saves the same in an ELF file, for the target that reads those. */
static void save_file(const char *name, const struct make_go *m, bool merged)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(make_elf_deinit) struct make_elf elf;
	make_elf_init(&elf, 8 * m->word, m->big);
	make_go_elf(m, merged, &elf);
	struct ux_bytes file = make_elf_finish(&elf);
	ux_out_u8(&out, merged ? 1 : 0x80);
	ux_out_put(&out, file.data, file.size);
	save_seed("extract", name, ux_out_bytes(&out));
}

static void save(const char *name, struct make_go *m, bool hints)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	m->files = make_go_sample_files;
	m->functions = make_go_sample;
	m->n_functions = make_go_sample_size;
	make_go_finish(m);
	save_file(name, m, !hints);
	ux_out_u8(&out, (m->big ? FUZZ_GO_SWAP : 0) | (hints ? FUZZ_GO_HINTS : 0));
	put_le(&out, m->table.size, 4);
	put_le(&out, m->data.size, 4);
	ux_out_put(&out, m->table.data, m->table.size);
	ux_out_put(&out, m->data.data, m->data.size);
	for (size_t i = 0; i < m->words.size; i++) {
		put_le(&out, m->words.data[i].pc, 8);
		put_le(&out, m->words.data[i].value, 8);
	}
	save_seed("gosym", name, ux_out_bytes(&out));
	make_go_deinit(m);
}

void make_gosym_corpus(void)
{
	save("go19", &(struct make_go){.layout = UX_GOSYM_GO12, .minor = 9, .word = 8}, true);
	save("go111-big",
	     &(struct make_go){.layout = UX_GOSYM_GO12, .minor = 11, .word = 8, .big = true},
	     false);
	save("go112", &(struct make_go){.layout = UX_GOSYM_GO12, .minor = 12, .word = 8}, true);
	save("go115", &(struct make_go){.layout = UX_GOSYM_GO12, .word = 8}, true);
	save("go114-loaded", &(struct make_go){.layout = UX_GOSYM_GO12, .word = 8, .loaded = true},
	     false);
	save("go117-32", &(struct make_go){.layout = UX_GOSYM_GO116, .word = 4}, false);
	save("go116-big", &(struct make_go){.layout = UX_GOSYM_GO116, .word = 8, .big = true},
	     true);
	save("go118", &(struct make_go){.layout = UX_GOSYM_GO118, .word = 8}, true);
	save("go119-big-4",
	     &(struct make_go){.layout = UX_GOSYM_GO118, .word = 4, .big = true, .quantum = 4},
	     false);
	save("go124-split",
	     &(struct make_go){
		     .layout = UX_GOSYM_GO120, .minor = 24, .word = 8, .split_text = true},
	     true);
	save("go126", &(struct make_go){.layout = UX_GOSYM_GO120, .minor = 26, .word = 8}, false);
	save("go127-loaded", &(struct make_go){.layout = UX_GOSYM_GO120, .word = 8, .loaded = true},
	     true);
}
