/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers shared by the tests of the installed headers: inputs in memory. */
#ifndef UX_TEST_PUBLIC_H
#define UX_TEST_PUBLIC_H

#include "sweep.h"

#include <unhex/unhex.h>

#include "make_elf.h"
#include "make_gsym.h"

#define BUILD_ID \
	UX_STR("\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67")

/* Two functions at 0x1000 ("first", also "again", 32 bytes) and 0x1020 ("_Z6secondv", 16 bytes). */
static inline struct ux_bytes make_binary(struct make_elf *m, uint8_t id_byte)
{
	static uint8_t id[20];
	static const uint8_t code[64];
	make_elf_init(m, 64, false);
	memcpy(id, BUILD_ID.data, sizeof(id));
	id[0] = id_byte;
	make_elf_note(m, ".note.gnu.build-id", "GNU", NT_GNU_BUILD_ID, ux_bytes(id, sizeof(id)));
	uint32_t text =
		make_elf_section(m, (struct make_section){.name = ".text",
							  .flags = SHF_ALLOC | SHF_EXECINSTR,
							  .addr = 0x1000,
							  .content = ux_bytes(code, 64)});
	make_elf_segment(
		m, (struct make_segment){
			   .type = PT_LOAD, .flags = PF_R | PF_X, .first = text, .last = text});
	make_elf_symbol(m, (struct make_symbol){.name = "first",
						.value = 0x1000,
						.size = 32,
						.section = text,
						.type = STT_FUNC,
						.bind = STB_GLOBAL});
	make_elf_symbol(m, (struct make_symbol){.name = "again",
						.value = 0x1000,
						.size = 32,
						.section = text,
						.type = STT_FUNC,
						.bind = STB_WEAK});
	make_elf_symbol(m, (struct make_symbol){.name = "_Z6secondv",
						.value = 0x1020,
						.size = 16,
						.section = text,
						.type = STT_FUNC,
						.bind = STB_GLOBAL});
	return make_elf_finish(m);
}

static inline struct ux_input input_of(struct ux_bytes bytes)
{
	return ux_input_memory(bytes.data, bytes.size);
}

static inline struct ux_input example(void)
{
	return ux_input_memory(make_gsym_example, sizeof(make_gsym_example));
}

static inline struct ux_module *open_example(void)
{
	struct ux_module *m = NULL;
	struct ux_input in = example();
	assert_int_equal(ux_module_open(&in, NULL, &m, NULL), UX_OK);
	return m;
}

#endif
