/* SPDX-License-Identifier: Apache-2.0 */
/* The confined child in a build that has none: members of archives are not read. */
#include "sandbox.h"

static enum ux_code sandbox_absent(struct ux_error *err)
{
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "this static build cannot read archives; unpack it first");
}

enum ux_code ux_fork_server_start(struct ux_fork_server **ret, const char *program,
				  struct ux_error *err)
{
	(void)ret, (void)program;
	return sandbox_absent(err);
}

void ux_fork_server_stop(struct ux_fork_server *f)
{
	(void)f;
}

enum ux_code ux_sandbox_members(const struct ux_sandbox_part *archive, enum ux_members_mode mode,
				int out, const struct ux_sandbox_limits *limits,
				const char *program, struct ux_error *err)
{
	(void)archive, (void)mode, (void)out, (void)limits, (void)program;
	return sandbox_absent(err);
}

enum ux_code ux_sandbox_facts(const struct ux_sandbox_part *file, bool no_gpu, int scratch,
			      const struct ux_sandbox_limits *limits, const char *program,
			      struct ux_module_facts_vec *ret, struct ux_error *err)
{
	(void)file, (void)no_gpu, (void)scratch, (void)limits, (void)program, (void)ret;
	return sandbox_absent(err);
}

enum ux_code ux_sandbox_symbols(const struct ux_sandbox_symbols *what, int out,
				const struct ux_sandbox_limits *limits, const char *program,
				struct ux_sandbox_found *ret, struct ux_error *err)
{
	(void)what, (void)out, (void)limits, (void)program, (void)ret;
	return sandbox_absent(err);
}

enum ux_code ux_sandbox_runtime(const struct ux_sandbox_part *file,
				const struct ux_runtime_request *what, int out,
				const struct ux_sandbox_limits *limits, const char *program,
				struct ux_error *err)
{
	(void)file, (void)what, (void)out, (void)limits, (void)program;
	return sandbox_absent(err);
}
