/* SPDX-License-Identifier: Apache-2.0 */
/* Target: bpf(2)'s reports about programs: for each program a byte that selects unusual record
 * sizes, nine arrays, each after its size (u16), then the next program. */
#include "fuzz.h"

#include "kernel.h"

static struct ux_bytes next_array(struct ux_bytes *rest)
{
	struct ux_bytes array = UX_BYTES_NONE;
	size_t n = rest->size < 2 ? 0 : (size_t)(rest->data[0] | rest->data[1] << 8);
	size_t skip = ux_min(rest->size, (size_t)2);
	*rest = ux_bytes(rest->data ? rest->data + skip : NULL, rest->size - skip);
	n = ux_min(n, rest->size);
	(void)ux_bytes_sub(*rest, 0, n, &array);
	*rest = ux_bytes(rest->data ? rest->data + n : NULL, rest->size - n);
	return array;
}

static void check_code(const struct ux_bpf_code *c)
{
	for (size_t i = 0; i < c->functions.size; i++) {
		const struct ux_bpf_function *f = &c->functions.data[i];
		const struct ux_bpf_line *line = ux_bpf_code_line(c, f, f->start);
		fuzz_truth(f->start < f->end && strncmp(f->name, "bpf_prog_", 9) == 0);
		fuzz_truth(i == 0 || c->functions.data[i - 1].start <= f->start);
		fuzz_truth(ux_bpf_code_find(c, f->start) != NULL);
		fuzz_truth(!line || line->start == f->start);
		line = ux_bpf_code_line(c, f, f->end - 1);
		fuzz_truth(!line || (line->start >= f->start && line->start < f->end));
		fuzz_truth(!line || !strchr(line->base, '/'));
	}
}

FUZZ_TARGET(bpf)(const uint8_t *data, size_t size)
{
	struct ux_bytes rest = ux_bytes(data, size);
	struct ux_bpf_code c;
	ux_bpf_code_init(&c);
	for (unsigned n = 0; rest.size > 0 && n < 64; n++) {
		struct ux_error err = UX_ERROR_INIT;
		uint8_t odd = rest.data[0];
		rest = ux_bytes(rest.data + 1, rest.size - 1);
		struct ux_bpf_info info = {.function_size = 8 + (odd & 3) - (odd >> 6 & 1) * 8u,
					   .line_size = 16 + (odd >> 2 & 3) - (odd >> 7) * 16u,
					   .jited_line_size = 8 + (odd >> 4 & 3)};
		info.tag = next_array(&rest);
		info.name = next_array(&rest);
		info.starts = next_array(&rest);
		info.sizes = next_array(&rest);
		info.tags = next_array(&rest);
		info.functions = next_array(&rest);
		info.lines = next_array(&rest);
		info.jited_lines = next_array(&rest);
		info.btf = next_array(&rest);
		fuzz_truths_of_error(ux_bpf_code_add(&c, &info, &err), &err, size);
	}
	ux_bpf_code_sort(&c);
	check_code(&c);
	ux_bpf_code_deinit(&c);
	return 0;
}
