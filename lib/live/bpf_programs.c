/* SPDX-License-Identifier: Apache-2.0 */
/* The loaded BPF programs, read from the kernel by bpf(2). */
#include "kernel_symbols.h"

#include "proc_files.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	PROGRAMS_MAX = 65536,
	ARRAY_MAX = 64 << 20, /* bytes of one array */
};

/* Buffers for the arrays of a program, which the kernel fills. */
struct bpf_arrays {
	uint64_t *starts;
	uint32_t *sizes;
	uint8_t (*tags)[BPF_TAG_SIZE];
	uint8_t *functions;
	uint8_t *lines;
	uint8_t *jited_lines;
	uint8_t *btf;
	uint32_t btf_size;
};

void ux_bpf_programs_free(struct ux_bpf_programs *p)
{
	if (!p)
		return;
	ux_bpf_code_deinit(&p->code);
	free(p);
}

static void bpf_arrays_deinit(struct bpf_arrays *a)
{
	free(a->starts);
	free(a->sizes);
	free(a->tags);
	free(a->functions);
	free(a->lines);
	free(a->jited_lines);
	free(a->btf);
}

static int bpf_call(enum bpf_cmd cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

/* Reads the information about a BPF object into info. */
static enum ux_code bpf_info_read(int fd, void *info, uint32_t size, struct ux_error *err)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = size;
	attr.info.info = (uintptr_t)info;
	if (bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr) != 0)
		return ux_error_os(err, errno, "cannot read the information of a BPF program");
	return UX_OK;
}

/* Allocates n records. *ret is NULL when n is 0. */
static enum ux_code bpf_array_alloc(void *ret, uint64_t n, uint64_t size, struct ux_error *err)
{
	void *p = NULL;
	if (size > ARRAY_MAX || n > ARRAY_MAX / ux_max(size, (uint64_t)1))
		return ux_error_set(err, UX_ELIMIT, "a BPF program has too many records: %" PRIu64,
				    n);
	if (n * size > 0 && !(p = calloc((size_t)n, (size_t)size)))
		return ux_error_nomem(err);
	memcpy(ret, &p, sizeof(p));
	return UX_OK;
}

static enum ux_code bpf_btf_read(uint32_t id, struct bpf_arrays *a, struct ux_error *err)
{
	UX_FD(fd);
	union bpf_attr attr;
	struct bpf_btf_info info = {0};
	memset(&attr, 0, sizeof(attr));
	attr.btf_id = id;
	fd = bpf_call(BPF_BTF_GET_FD_BY_ID, &attr);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot read the BTF of a BPF program");
	UX_TRY(bpf_info_read(fd, &info, sizeof(info), err));
	UX_TRY(bpf_array_alloc(&a->btf, info.btf_size, 1, err));
	a->btf_size = info.btf_size;
	memset(&info, 0, sizeof(info));
	info.btf = (uintptr_t)a->btf;
	info.btf_size = a->btf_size;
	UX_TRY(bpf_info_read(fd, &info, sizeof(info), err));
	a->btf_size = ux_min(info.btf_size, a->btf_size);
	return UX_OK;
}

/* Allocates the arrays with the sizes that the first call of BPF_OBJ_GET_INFO_BY_FD returned. */
static enum ux_code bpf_arrays_alloc(const struct bpf_prog_info *sizes, struct bpf_arrays *a,
				     struct ux_error *err)
{
	UX_TRY(bpf_array_alloc(&a->starts, sizes->nr_jited_ksyms, sizeof(*a->starts), err));
	UX_TRY(bpf_array_alloc(&a->sizes, sizes->nr_jited_func_lens, sizeof(*a->sizes), err));
	UX_TRY(bpf_array_alloc(&a->tags, sizes->nr_prog_tags, sizeof(*a->tags), err));
	UX_TRY(bpf_array_alloc(&a->functions, sizes->nr_func_info, sizes->func_info_rec_size, err));
	UX_TRY(bpf_array_alloc(&a->lines, sizes->nr_line_info, sizes->line_info_rec_size, err));
	return bpf_array_alloc(&a->jited_lines, sizes->nr_jited_line_info,
			       sizes->jited_line_info_rec_size, err);
}

static enum ux_code bpf_program_add(struct ux_bpf_code *code, int fd, struct ux_error *err)
{
	ux_cleanup(bpf_arrays_deinit) struct bpf_arrays a = {0};
	struct bpf_prog_info sizes = {0};
	UX_TRY(bpf_info_read(fd, &sizes, sizeof(sizes), err));
	UX_TRY(bpf_arrays_alloc(&sizes, &a, err));
	struct bpf_prog_info info = {
		.nr_jited_ksyms = sizes.nr_jited_ksyms,
		.jited_ksyms = (uintptr_t)a.starts,
		.nr_jited_func_lens = sizes.nr_jited_func_lens,
		.jited_func_lens = (uintptr_t)a.sizes,
		.nr_prog_tags = sizes.nr_prog_tags,
		.prog_tags = (uintptr_t)a.tags,
		.nr_func_info = sizes.nr_func_info,
		.func_info_rec_size = sizes.func_info_rec_size,
		.func_info = (uintptr_t)a.functions,
		.nr_line_info = sizes.nr_line_info,
		.line_info_rec_size = sizes.line_info_rec_size,
		.line_info = (uintptr_t)a.lines,
		.nr_jited_line_info = sizes.nr_jited_line_info,
		.jited_line_info_rec_size = sizes.jited_line_info_rec_size,
		.jited_line_info = (uintptr_t)a.jited_lines,
	};
	UX_TRY(bpf_info_read(fd, &info, sizeof(info), err));
	if (sizes.nr_jited_ksyms > 0 && info.jited_ksyms == 0)
		return ux_error_set(err, UX_EDENIED,
				    "kptr_restrict hides the addresses of BPF programs (sysctl "
				    "kernel.kptr_restrict)");
	if (sizes.btf_id != 0)
		UX_TRY(bpf_btf_read(sizes.btf_id, &a, err));
	struct ux_bpf_info parts = {
		.tag = ux_bytes(info.tag, sizeof(info.tag)),
		.name = ux_bytes(info.name, sizeof(info.name)),
		.starts = ux_bytes(a.starts, sizes.nr_jited_ksyms * sizeof(*a.starts)),
		.sizes = ux_bytes(a.sizes, sizes.nr_jited_func_lens * sizeof(*a.sizes)),
		.tags = ux_bytes(a.tags, sizes.nr_prog_tags * sizeof(*a.tags)),
		.functions = ux_bytes(a.functions,
				      (size_t)sizes.nr_func_info * sizes.func_info_rec_size),
		.function_size = sizes.func_info_rec_size,
		.lines = ux_bytes(a.lines, (size_t)sizes.nr_line_info * sizes.line_info_rec_size),
		.line_size = sizes.line_info_rec_size,
		.jited_lines = ux_bytes(a.jited_lines, (size_t)sizes.nr_jited_line_info *
							       sizes.jited_line_info_rec_size),
		.jited_line_size = sizes.jited_line_info_rec_size,
		.btf = ux_bytes(a.btf, a.btf_size),
	};
	return ux_bpf_code_add(code, &parts, err);
}

/* Reads all programs in order of their IDs. A program that cannot be read is skipped, and the
 * first reason is stored in p->lost. */
static enum ux_code bpf_programs_read_all(struct ux_bpf_programs *p, struct ux_error *err)
{
	uint32_t id = 0;
	for (unsigned n = 0; n < PROGRAMS_MAX; n++) {
		UX_FD(fd);
		union bpf_attr attr;
		struct ux_error why = UX_ERROR_INIT;
		memset(&attr, 0, sizeof(attr));
		attr.start_id = id;
		if (bpf_call(BPF_PROG_GET_NEXT_ID, &attr) != 0) {
			if (errno != ENOENT) /* ENOENT: no more programs */
				ux_error_os(&p->lost, errno,
					    "cannot list BPF programs; that needs CAP_SYS_ADMIN");
			return UX_OK;
		}
		id = attr.next_id;
		memset(&attr, 0, sizeof(attr));
		attr.prog_id = id;
		fd = bpf_call(BPF_PROG_GET_FD_BY_ID, &attr);
		if (fd < 0 && errno == ENOENT) /* the program was unloaded meanwhile */
			continue;
		enum ux_code code = fd < 0 ? ux_error_os(&why, errno, "cannot open a BPF program")
					   : bpf_program_add(&p->code, fd, &why);
		if (code == UX_ENOMEM)
			return ux_error_nomem(err);
		if (code != UX_OK && p->lost.code == UX_OK)
			p->lost = why;
	}
	return UX_OK;
}

enum ux_code ux_bpf_programs_read(struct ux_bpf_programs **ret, struct ux_error *err)
{
	struct ux_bpf_programs *p = calloc(1, sizeof(*p));
	if (!p)
		return ux_error_nomem(err);
	ux_bpf_code_init(&p->code);
	enum ux_code code = bpf_programs_read_all(p, err);
	if (code != UX_OK) {
		ux_bpf_programs_free(p);
		return code;
	}
	ux_bpf_code_sort(&p->code);
	*ret = p;
	return UX_OK;
}
