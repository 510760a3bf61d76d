/* SPDX-License-Identifier: Apache-2.0 */
/* The default places of distributions' repositories. */
#include "crawl_plan.h"

#include "out.h"

#include <sys/utsname.h>

static const struct ux_distribution distributions[] = {
	{.name = "debian",
	 .form = UX_REPOSITORY_DEBIAN,
	 .apt = true,
	 .usual = "main",
	 .keys = {"/usr/share/keyrings/debian-archive-keyring.gpg",
		  "/usr/share/keyrings/debian-archive-keyring.pgp"}},
	{.name = "debian-debug",
	 .form = UX_REPOSITORY_DEBIAN,
	 .usual = "main",
	 .keys = {"/usr/share/keyrings/debian-archive-keyring.gpg",
		  "/usr/share/keyrings/debian-archive-keyring.pgp"}},
	{.name = "ubuntu",
	 .form = UX_REPOSITORY_DEBIAN,
	 .mirror = "http://archive.ubuntu.com/ubuntu",
	 .apt = true,
	 .usual = "main universe",
	 .keys = {"/usr/share/keyrings/ubuntu-archive-keyring.gpg"}},
	{.name = "ubuntu-ddebs",
	 .form = UX_REPOSITORY_DEBIAN,
	 .mirror = "http://ddebs.ubuntu.com",
	 .usual = "main universe",
	 .keys = {"/usr/share/keyrings/ubuntu-dbgsym-keyring.gpg"}},
	{.name = "alpine",
	 .form = UX_REPOSITORY_ALPINE,
	 .mirror = "https://dl-cdn.alpinelinux.org/alpine",
	 .usual = "main community",
	 .kernel_arch = true,
	 .keys = {"/etc/apk/keys", "/usr/share/apk/keys"},
	 .paths = {{NULL, "%s/%c/%a"}}},
	{.name = "arch",
	 .form = UX_REPOSITORY_ARCH,
	 .mirror = "https://geo.mirror.pkgbuild.com",
	 .usual = "core-debug extra-debug core extra",
	 .suite = "rolling",
	 .kernel_arch = true,
	 .paths = {{NULL, "%c/os/%a"}}},
	{.name = "fedora",
	 .form = UX_REPOSITORY_RPM,
	 .mirror = "https://dl.fedoraproject.org/pub/fedora/linux",
	 .usual = "debuginfo updates-debuginfo everything updates",
	 .kernel_arch = true,
	 .paths = {{"everything", "releases/%s/Everything/%a/os"},
		   {"debuginfo", "releases/%s/Everything/%a/debug/tree"},
		   {"updates", "updates/%s/Everything/%a"},
		   {"updates-debuginfo", "updates/%s/Everything/%a/debug"}}},
	/* suites are releases of Amazon Linux 2023, such as 2023.6.20250115, or "2.0" and "latest"
	   of Amazon Linux 2 */
	{.name = "amazon",
	 .form = UX_REPOSITORY_RPM,
	 .mirror = "https://cdn.amazonlinux.com",
	 .usual = "debuginfo core",
	 .suite = "latest",
	 .kernel_arch = true,
	 .paths = {{"core", "al2023/core/mirrors/%s/%a/mirror.list"},
		   {"debuginfo", "al2023/core/mirrors/%s/debuginfo/%a/mirror.list"},
		   {"2-core", "2/core/%s/%a/mirror.list"},
		   {"2-debuginfo", "2/core/%s/debuginfo/%a/mirror.list"}}},
	{.name = "opensuse",
	 .form = UX_REPOSITORY_RPM,
	 .mirror = "https://download.opensuse.org",
	 .usual = "debuginfo oss",
	 .kernel_arch = true,
	 .paths = {{"oss", "tumbleweed/repo/oss", "tumbleweed"},
		   {"debuginfo", "debug/tumbleweed/repo/oss", "tumbleweed"},
		   {"oss", "distribution/leap/%s/repo/oss"},
		   {"debuginfo", "debug/distribution/leap/%s/repo/oss"}}},
	{.name = "oci", .form = UX_REPOSITORY_IMAGE},
	/* one repository, whose root is the mirror's */
	{.name = "rpm",
	 .form = UX_REPOSITORY_RPM,
	 .usual = "packages",
	 .suite = "rpm",
	 .kernel_arch = true,
	 .paths = {{NULL, ""}}},
};

const char ux_crawl_distributions[] =
	"debian debian-debug ubuntu ubuntu-ddebs alpine arch fedora amazon opensuse rpm oci";

const struct ux_distribution *ux_distribution_find(const char *name)
{
	for (size_t i = 0; i < ux_countof(distributions); i++)
		if (strcmp(distributions[i].name, name) == 0)
			return &distributions[i];
	return NULL;
}

const char *ux_distribution_own_arch(const struct ux_distribution *d)
{
	/* the kernel's word, Debian's, and the usual one of others where that differs */
	static const char *const names[][2] = {
		{"x86_64", "amd64"}, {"aarch64", "arm64"},   {"i686", "i386"},
		{"armv7l", "armhf"}, {"ppc64le", "ppc64el"}, {"riscv64", "riscv64"},
		{"s390x", "s390x"},
	};
	struct utsname u;
	size_t at = 0;
	if (uname(&u) == 0)
		for (size_t i = 0; i < ux_countof(names); i++)
			at = strcmp(u.machine, names[i][0]) == 0 ? i : at;
	return names[at][d->kernel_arch ? 0 : 1];
}

enum ux_code ux_distribution_path(const struct ux_distribution *d, const char *suite,
				  const char *component, const char *arch, struct ux_arena *arena,
				  const char **ret, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const char *form = NULL;
	for (size_t i = 0; i < ux_countof(d->paths) && d->paths[i].path && !form; i++)
		if ((!d->paths[i].component || strcmp(d->paths[i].component, component) == 0) &&
		    (!d->paths[i].suite || strcmp(d->paths[i].suite, suite) == 0))
			form = d->paths[i].path;
	if (!form && d->paths[0].path)
		return ux_error_set(err, UX_EINVAL, "%s has no component %.60s", d->name,
				    component);
	for (const char *p = form ? form : ""; *p != '\0'; p++) {
		if (*p != '%') {
			ux_out_u8(&out, (uint8_t)*p);
			continue;
		}
		p++;
		ux_out_cstr(&out, *p == 's' ? suite : *p == 'c' ? component : arch);
	}
	UX_TRY(ux_out_status(&out, err));
	*ret = ux_arena_strndup(arena, out.size > 0 ? (const void *)out.data : "", out.size);
	return *ret ? UX_OK : ux_arena_fail(arena, err);
}
