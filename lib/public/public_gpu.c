/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions for GPU code in a file. */
#include "unhex/gpu.h"

#include "cubin.h"
#include "elf_symbols.h"
#include "fatbin.h"
#include "public.h"

enum {
	ENTRY = 0x10, /* bit of st_other: the host program can launch it */
};

#define PIECE_MIN (offsetof(struct ux_gpu_piece, bytes) + sizeof(uint64_t))

struct ux_gpu {
	struct ux_opened file;
	struct ux_fatbin_list list;
	char *names;  /* malloc'ed: the names of all pieces, each with a NUL */
	size_t *name; /* malloc'ed: offset of each name */
};

static_assert((int)UX_GPU_ARCH_TEXT == (int)UX_FATBIN_ARCH_TEXT,
	      "the caller's array has room for the text");

void ux_gpu_close(struct ux_gpu *gpu)
{
	if (!gpu)
		return;
	ux_fatbin_list_deinit(&gpu->list);
	ux_opened_close(&gpu->file);
	free(gpu->names);
	free(gpu->name);
	free(gpu);
}

static void gpu_guard(struct ux_gpu **gpu)
{
	ux_gpu_close(*gpu);
}

/* Adds a file that is a cubin, as if it were an entry of a fat binary. */
static enum ux_code gpu_add_cubin(struct ux_gpu *gpu, struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_bytes file = gpu->file.bytes;
	struct ux_fatbin_entry entry = {
		.kind = UX_FATBIN_CUBIN, .payload = file, .size = file.size};
	UX_TRY(ux_elf_open(&elf, file, err));
	entry.arch = ux_cubin_sm(&elf);
	return ux_fatbin_entry_vec_append(&gpu->list.entries, entry) ? UX_OK : ux_error_nomem(err);
}

/* Copies the names, which are slices of the file, to NUL-terminated strings. */
static enum ux_code gpu_copy_names(struct ux_gpu *gpu, struct ux_error *err)
{
	size_t n = gpu->list.entries.size, bytes = 0, used = 0;
	for (size_t i = 0; i < n; i++)
		bytes += gpu->list.entries.data[i].name.size +
			 1; /* cannot wrap: all names are inside of the file */
	gpu->names = malloc(bytes + 1);
	gpu->name = calloc(n + 1, sizeof(*gpu->name));
	if (!gpu->names || !gpu->name)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++) {
		struct ux_bytes name = gpu->list.entries.data[i].name;
		gpu->name[i] = used;
		if (name.size > 0)
			memcpy(gpu->names + used, name.data, name.size);
		gpu->names[used + name.size] = '\0';
		used += name.size + 1;
	}
	return UX_OK;
}

enum ux_code ux_gpu_open(const struct ux_input *in, struct ux_gpu **ret, struct ux_error *err)
{
	ux_cleanup(gpu_guard) struct ux_gpu *gpu = calloc(1, sizeof(*gpu));
	if (!gpu)
		return ux_error_nomem(err);
	UX_TRY(ux_opened_open(&gpu->file, in, err));
	if (ux_cubin_is(gpu->file.bytes))
		UX_TRY(gpu_add_cubin(gpu, err));
	else
		UX_TRY(ux_fatbin_list_read(gpu->file.bytes, &gpu->list, err));
	UX_TRY(gpu_copy_names(gpu, err));
	*ret = ux_take(&gpu);
	return UX_OK;
}

size_t ux_gpu_count(const struct ux_gpu *gpu)
{
	return gpu->list.entries.size;
}

uint64_t ux_gpu_damaged(const struct ux_gpu *gpu, struct ux_error *ret_first)
{
	if (ret_first)
		*ret_first = gpu->list.bad > 0 ? gpu->list.reason : (struct ux_error)UX_ERROR_INIT;
	return gpu->list.bad;
}

static enum ux_gpu_kind gpu_kind_of(uint16_t kind)
{
	return kind == UX_FATBIN_CUBIN    ? UX_GPU_CUBIN
	       : kind == UX_FATBIN_PTX    ? UX_GPU_PTX
	       : kind == UX_FATBIN_LTO_IR ? UX_GPU_LTO_IR
					  : UX_GPU_OTHER;
}

static enum ux_code gpu_entry_at(const struct ux_gpu *gpu, size_t i,
				 const struct ux_fatbin_entry **ret, struct ux_error *err)
{
	if (i >= gpu->list.entries.size)
		return ux_error_set(err, UX_EINVAL,
				    "GPU code %zu does not exist; the file has %zu pieces", i,
				    gpu->list.entries.size);
	*ret = &gpu->list.entries.data[i];
	return UX_OK;
}

enum ux_code ux_gpu_piece_at(const struct ux_gpu *gpu, size_t i, struct ux_gpu_piece *ret,
			     struct ux_error *err)
{
	const struct ux_fatbin_entry *e = NULL;
	UX_TRY(ux_sized_check(ret, PIECE_MIN, err));
	UX_TRY(gpu_entry_at(gpu, i, &e, err));
	struct ux_gpu_piece piece = {
		.size = sizeof(piece),
		.number = (uint32_t)i + 1,
		.kind = gpu_kind_of(e->kind),
		.name = gpu->names + gpu->name[i],
		.off = e->off,
		.bytes = e->size,
	};
	ux_fatbin_arch(e, piece.arch);
	ux_sized_write(ret, &piece, sizeof(piece));
	return UX_OK;
}

/* Decompresses the content of a cubin. */
static enum ux_code gpu_unpack_cubin(const struct ux_gpu *gpu, size_t i,
				     struct ux_fatbin_content *ret, struct ux_error *err)
{
	const struct ux_fatbin_entry *e = NULL;
	UX_TRY(gpu_entry_at(gpu, i, &e, err));
	if (e->kind != UX_FATBIN_CUBIN)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "GPU code %zu is %s: expected a cubin, which has addresses",
				    i + 1, ux_fatbin_kind_name(e->kind));
	return ux_fatbin_unpack(e, NULL, ret, err);
}

enum ux_code ux_gpu_ids(const struct ux_gpu *gpu, size_t i, struct ux_ids *ret,
			struct ux_error *err)
{
	ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
	struct ux_id_set set = {0};
	UX_TRY(gpu_unpack_cubin(gpu, i, &content, err));
	UX_TRY(ux_cubin_ids(content.bytes, &set, err));
	memset(ret, 0, sizeof(*ret));
	ret->n = set.size;
	for (size_t k = 0; k < set.size; k++)
		ux_id_format(&set.ids[k], ret->text[k]);
	return UX_OK;
}

enum ux_code ux_gpu_content(const struct ux_gpu *gpu, size_t i, ux_write_fn *fn, void *ctx,
			    struct ux_error *err)
{
	ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
	const struct ux_fatbin_entry *e = NULL;
	UX_TRY(gpu_entry_at(gpu, i, &e, err));
	UX_TRY(ux_fatbin_unpack(e, NULL, &content, err));
	enum ux_code code = fn(ctx, content.bytes.data, content.bytes.size);
	return code == UX_OK ? UX_OK
			     : ux_error_set(err, code, "the output function ended the extraction");
}

/* Passes a function to the caller. False ends the walk. */
static bool gpu_give_function(const struct ux_elf *elf, const struct ux_elf_symbol *s,
			      uint32_t index, ux_gpu_function_fn *fn, void *ctx)
{
	struct ux_gpu_function f = {.size = s->size, .index = index};
	if (s->type != STT_FUNC || !s->home || s->name[0] == '\0')
		return true;
	f.name = ux_cubin_symbol_name(s->name, s->home);
	f.start = ux_elf_symbol_pc(elf, s);
	f.kernel = (s->other & ENTRY) != 0;
	return fn(ctx, &f);
}

enum ux_code ux_gpu_functions(const struct ux_gpu *gpu, size_t i, ux_gpu_function_fn *fn, void *ctx,
			      struct ux_error *err)
{
	ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_elf_symbols it;
	UX_TRY(gpu_unpack_cubin(gpu, i, &content, err));
	UX_TRY(ux_elf_open(&elf, content.bytes, err));
	const struct ux_elf_section *table = ux_elf_section_find(&elf, ".symtab");
	if (!table || table->type == SHT_NOBITS)
		return ux_error_set(err, UX_ENOTFOUND, "the cubin has no symbol table");
	UX_TRY(ux_elf_symbols_open(&elf, table, &it, err));
	bool more = true;
	for (const struct ux_elf_symbol *s; more && (s = ux_elf_symbols_next(&it));)
		more = gpu_give_function(&elf, s, (uint32_t)it.next - 1, fn, ctx);
	return UX_OK;
}

const char *ux_gpu_kind_name(enum ux_gpu_kind kind)
{
	static const char *const names[] = {"other", "cubin", "ptx", "lto-ir"};
	return (size_t)kind < ux_countof(names) ? names[kind] : names[UX_GPU_OTHER];
}
