/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of interpreters' memory: one for each layout, constant and changing. */
#include "make_corpus.h"
#include "make_php.h"
#include "make_python.h"
#include "make_ruby.h"
#include "out.h"

static void make_one(uint32_t version, const uint8_t motion[3], const char *kind)
{
	static struct make_python m;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	char name[32];
	make_python(&m, version);
	ux_out_u8(&out, (uint8_t)version);
	ux_out_put(&out, motion, 3);
	ux_out_put(&out, m.image, m.size);
	snprintf(name, sizeof(name), "%u.%u-%s", version >> 8, version & 0xff, kind);
	save_seed("interp_python", name, ux_out_bytes(&out));
}

static void make_one_php(uint32_t version, const uint8_t motion[3], const char *kind)
{
	static struct make_php m;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	char name[32];
	make_php(&m, version);
	ux_out_u8(&out, (uint8_t)(version >> 8));
	ux_out_put(&out, motion, 3);
	ux_out_put(&out, m.image, m.size);
	snprintf(name, sizeof(name), "%u.%u-%s", version >> 16, version >> 8 & 0xff, kind);
	save_seed("interp_php", name, ux_out_bytes(&out));
}

static void make_one_ruby(const uint8_t motion[3], const char *name, enum make_ruby_version version)
{
	static struct make_ruby m;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_ruby(&m, version);
	ux_out_put(&out, motion, 3);
	ux_out_put(&out, m.image, m.size);
	save_seed("interp_ruby", name, ux_out_bytes(&out));
}

void make_interp_corpus(void)
{
	static const uint8_t still[3] = {0, 0, 0}, moving[3] = {9, 37, 8};
	for (uint32_t version = 0x0307; version <= 0x030e; version++)
		make_one(version, still, "still");
	make_one(0x030a, moving, "moving");
	make_one(0x030d, moving, "moving");
	make_one_php(0x080200, still, "still");
	make_one_php(0x080400, still, "still");
	make_one_php(0x080400, moving, "moving");
	make_one_ruby(still, "still", MAKE_RUBY_31);
	make_one_ruby(moving, "moving", MAKE_RUBY_31);
	make_one_ruby(still, "still_33", MAKE_RUBY_33);
	make_one_ruby(moving, "moving_33", MAKE_RUBY_33);
}
