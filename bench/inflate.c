/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor of reading compressed debug information: maps a file, inflates each of its
 * zlib-compressed sections once with libdeflate, and does nothing else.
 */
#include "elf_file.h"
#include "file.h"

#include <elf.h>
#include <libdeflate.h>
#include <stdio.h>

/* Inflates one section; 0, or 1 with a word on stderr. */
static int inflate_section(struct libdeflate_decompressor *inflater, struct ux_bytes content)
{
	Elf64_Chdr head;
	if (content.size < sizeof(head))
		return 1;
	memcpy(&head, content.data, sizeof(head));
	if (head.ch_type != ELFCOMPRESS_ZLIB)
		return 0;
	uint8_t *room = malloc(head.ch_size);
	enum libdeflate_result result =
		room ? libdeflate_zlib_decompress(inflater, content.data + sizeof(head),
						  content.size - sizeof(head), room, head.ch_size,
						  NULL)
		     : LIBDEFLATE_INSUFFICIENT_SPACE;
	free(room);
	if (result != LIBDEFLATE_SUCCESS)
		fprintf(stderr, "inflate: a section does not inflate\n");
	return result != LIBDEFLATE_SUCCESS;
}

int main(int argc, char **argv)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_error err = UX_ERROR_INIT;
	struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
	int status = argc == 2 && inflater ? 0 : 2;
	if (status == 0 && (ux_file_map(argv[1], &file, &err) != UX_OK ||
			    ux_elf_open(&elf, file.bytes, &err) != UX_OK))
		status = 1;
	for (size_t i = 0; status == 0 && i < elf.n_sections; i++)
		if ((elf.sections[i].flags & SHF_COMPRESSED) &&
		    elf.sections[i].off <= file.bytes.size &&
		    elf.sections[i].size <= file.bytes.size - elf.sections[i].off)
			status = inflate_section(inflater,
						 ux_bytes(file.bytes.data + elf.sections[i].off,
							  elf.sections[i].size));
	libdeflate_free_decompressor(inflater);
	return status;
}
