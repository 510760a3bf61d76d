/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: files of Debian: the first byte chooses stanzas, Release, or the sources of apt. Fields
 * lie in the text, in order; an index entry of Release has the path that was searched for.
 */
#include "fuzz.h"

#include "debian_files.h"

static void check_stanzas(struct ux_bytes text)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_deb822 d = ux_deb822_make(text, "text");
	struct ux_deb822_field f;
	const uint8_t *at = text.data;
	while (ux_deb822_next_stanza(&d))
		while (ux_deb822_next_field(&d, &f)) {
			fuzz_truth(f.name.size > 0 && f.name.data >= at);
			fuzz_truth(fuzz_inside(f.name, text) && fuzz_inside(f.value, text));
			at = f.name.data + f.name.size;
			struct ux_bytes left = f.value, word;
			int64_t date = 0;
			size_t n = 0;
			while (ux_deb822_word(&left, &word)) {
				fuzz_truth(word.size > 0 && fuzz_inside(word, f.value));
				n += word.size;
			}
			fuzz_truth(n <= f.value.size);
			if (ux_deb822_date(f.value, &date))
				fuzz_truth(date >= INT64_C(-62200000000) &&
					   date < INT64_C(253500000000));
		}
	enum ux_code code = ux_deb822_status(&d, &err);
	fuzz_truths_of_error(code, &err, text.size);
}

static void check_release(struct ux_bytes text)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_debian_release r;
	struct ux_debian_index index;
	static const char path[] = "main/binary-amd64/Packages";
	enum ux_code code = ux_debian_release_parse(text, &r, &err);
	fuzz_truths_of_error(code, &err, text.size);
	if (code != UX_OK)
		return;
	for (int form = UX_DEBIAN_FORMS, before = form;
	     ux_debian_release_find(&r, path, &form, &index, NULL) == UX_OK; before = form) {
		fuzz_truth(form >= 0 && form < before);
		fuzz_truth(fuzz_inside(index.path, text));
		fuzz_truth(ux_bytes_starts(index.path, ux_bytes_cstr(path)));
	}
}

static void check_sources(struct ux_bytes text, bool stanzas)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_apt_source_vec_deinit) struct ux_apt_source_vec v = {0};
	enum ux_code code = stanzas ? ux_apt_sources_deb822(text, &arena, &v, &err)
				    : ux_apt_sources_list(text, &arena, &v, &err);
	fuzz_truths_of_error(code, &err, text.size);
	for (size_t i = 0; i < v.size; i++) {
		fuzz_truth(v.data[i].uri[0] != '\0' || text.data != NULL);
		fuzz_truth(!strstr(v.data[i].suites, "  ") && !strchr(v.data[i].suites, '\n'));
		fuzz_truth(v.data[i].signed_by[0] == '\0' || v.data[i].signed_by[0] == '/');
	}
}

FUZZ_TARGET(deb822)(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct ux_bytes text = ux_bytes(data + 1, size - 1);
	switch (data[0] % 4) {
	case 0:
		check_stanzas(text);
		break;
	case 1:
		check_release(text);
		break;
	default:
		check_sources(text, data[0] % 4 == 2);
	}
	return 0;
}
