/* SPDX-License-Identifier: Apache-2.0 */
/* Target: the configuration file of the server. */
#include "fuzz.h"

#include "settings.h"

enum {
	MEMORY = 64 << 20
};

FUZZ_TARGET(config)(const uint8_t *data, size_t size)
{
	struct ux_settings s = {0};
	struct ux_error err = UX_ERROR_INIT;
	ux_arena_init(&s.arena, MEMORY);
	enum ux_code code = ux_setting_defaults(&ux_settings_table, NULL, &s, &s.arena, &err);
	fuzz_truth(code == UX_OK);
	code = ux_config_parse(&ux_settings_table, ux_bytes(data, size), "f", &s, &s.arena, &err);
	fuzz_truths_of_error(code, &err, size);
	fuzz_truth(code == UX_OK || strncmp(err.text, "f:", 2) == 0 || code == UX_ELIMIT);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	if (code == UX_OK)
		ux_settings_print(&ux_settings_table, &s, &out);
	fuzz_truth(code != UX_OK || out.size > 0);
	ux_arena_deinit(&s.arena);
	return 0;
}
