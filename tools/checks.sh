#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the named checks (default: those of `./dev test`) and ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 2

# What a contributor runs: it needs a compiler and Python alone.
bare_checks='layers tree unit e2e'
# What README.md tells a newcomer to type, in bare systems of the older and the newer Debian.
newcomer_checks='newcomer-12 newcomer-13'
# What CI runs besides: servers, other languages, peers. e2e-all has what e2e has.
quick_local_checks='format layers tree shell openapi unit'
long_local_checks='e2e-all attack oracle'
local_checks="$quick_local_checks $long_local_checks"
sanitizer_checks='clang asan tsan'
# What takes long, or root: other releases of Debian, packages.
packaging_checks='release lto debian-13 debian-13-e2e package rpm container static arm64 release-files'
# What takes little time and needs nothing but what builds.
quick_checks='format layers tree unit'
# The same, with the tests of what has changed alone (tools/changed.py).
changed_checks='format layers tree changed'

known=
in_turn=
case ${1-} in
--known | --names) # ends with 0 if all names are known; prints them
	known=$1
	shift
	;;
esac
case ${1-} in
--list)
	# shellcheck disable=SC2086 # words, one a line
	[ -n "$known" ] || printf '%s\n' e2e $newcomer_checks $local_checks $sanitizer_checks $packaging_checks
	exit 0
	;;
--all) in_turn=1 checks="$newcomer_checks $quick_local_checks $sanitizer_checks $long_local_checks" ;;
quick) checks=$quick_checks ;;
changed) checks=$changed_checks ;;
packaging) checks=$packaging_checks ;;
'') checks=$bare_checks ;;
*) checks=$* ;;
esac
for check in $checks; do
	case " e2e changed $newcomer_checks $local_checks $sanitizer_checks $packaging_checks " in
	*" $check "*) ;;
	*)
		printf 'checks: no check is named %s; there are: %s\n' "$check" \
			"e2e $newcomer_checks $local_checks $sanitizer_checks $packaging_checks, or quick: $quick_checks" >&2
		exit 2
		;;
	esac
done
case $known in
--names) echo "$checks" ;;
esac
[ -z "$known" ] || exit 0

passed=0
failed=0
skipped=0
failures=
# Tests that failed beside others and passed alone, a line each: every one has a defect (tests/repeated.txt).
repeated=
started=$(date +%s)
work=$(mktemp -d) || exit 2
trap 'prebuild_end; rm -rf "$work"' EXIT
python='/usr/bin/python3 -B'
# Many tests wait for servers and timeouts: one more than there are processors keeps these busy.
workers=$(($(nproc) + 1))

# CI ends a run after 90 minutes, whatever it does, and then nothing of it counts.
late=

# is_late CHECK: with --all, true if the check could exceed the time of CI. The last lines name it.
is_late() {
	case $1 in
	e2e-all) last_start_min=60 ;; # it takes 12 minutes, and twice as long on a slow machine
	*) last_start_min=75 ;;
	esac
	[ -n "$in_turn" ] && [ $(($(date +%s) - ${DEV_STARTED:-$started})) -gt $((last_start_min * 60)) ] || return 1
	printf '== %s: not run: more than %s minutes have passed\n' "$1" "$last_start_min"
	late="$late $1"
}

# Builds what the sanitizers need while other tests run, which mostly wait.
prebuild=
prebuild_begin() {
	[ -n "$in_turn" ] || return 0
	# shellcheck disable=SC2046 # one word each
	(
		setup_asan && ninja -C build-asan --quiet
		setup_tsan && ninja -C build-tsan --quiet cli/unhex $(tsan_programs)
	) >"$work/prebuild" 2>&1 &
	prebuild=$!
	chrt --idle --pid 0 $prebuild # below the agents under test, which have the lowest usual priority
}

# What is left is built at the usual priority.
prebuild_end() {
	[ -n "$prebuild" ] || return 0
	kill $prebuild 2>/dev/null
	pkill -P $prebuild
	wait $prebuild
	prebuild=
}

add() {
	passed=$((passed + $1))
	failed=$((failed + $2))
	[ "$2" = 0 ] || failures="$failures $3"
	printf '== %s: %s passed, %s failed (%s s after the start)\n' "$3" "$1" "$2" \
		$(($(date +%s) - started))
}

# one NAME COMMAND...: the command's exit status is one result.
one() {
	name=$1
	shift
	printf '== %s\n' "$name"
	if "$@"; then
		add 1 0 "$name"
	else
		add 0 1 "$name"
	fi
}

# tally NAME KIND FILE STATUS: adds what a runner wrote down; see tools/tally.py.
tally() {
	# shellcheck disable=SC2086 # an interpreter with its option
	$python tools/tally.py names "$2" "$3" 2>/dev/null | sed "s/^/   $1: /" >>"$work/names"
	# shellcheck disable=SC2046,SC2086 # three numbers; an interpreter with its option
	set -- "$1" $($python tools/tally.py "$2" "$3" "$4")
	skipped=$((skipped + ${4:-0}))
	add "${2:-0}" "${3:-1}" "$1"
}

# build NAME DIRECTORY MESON_OPTION...: false, and a failure counted, when it does not build.
build() {
	name=$1 dir=$2
	shift 2
	printf '== build %s\n' "$name"
	[ -f "$dir/build.ninja" ] || meson setup "$dir" -Dwerror=true "$@" >"$work/setup" || {
		cat "$work/setup"
		rm -rf "$dir"
		add 0 1 "build $name"
		return 1
	}
	ninja -C "$dir" --quiet || {
		add 0 1 "build $name"
		return 1
	}
}

# meson_tests NAME DIRECTORY [meson test's options]
# What failed beside the other programs is run once more, alone: some bound what a test may take. A sanitizer's report
# is a proof, and is not repeated.
meson_tests() {
	name=$1 dir=$2
	shift 2
	logs=$dir/meson-logs/$name.json
	rm -f "$logs" "$dir/meson-logs/$name-again.json"
	meson test -C "$dir" --no-rebuild --print-errorlogs --num-processes $workers --logbase "$name" "$@"
	status=$?
	# shellcheck disable=SC2086 # an interpreter with its option; one word each
	if [ $status -ne 0 ] && ! grep -qE "$SANITIZER_REPORT" "$logs" && again=$($python tools/tally.py failed "$logs") && [ -n "$again" ]; then
		again=$(printf %s "$again" | tr '\n' ' ')
		printf '== %s: failed, once more and alone: %s\n' "$name" "$again"
		meson test -C "$dir" --no-rebuild --print-errorlogs --logbase "$name-again" --num-processes 1 \
			--timeout-multiplier 5 $again
		status=$?
		[ $status -ne 0 ] || repeat_add "$name" "$(printf %s "${again% }" | tr ' ' '\n')"
		logs=$logs,$dir/meson-logs/$name-again.json
	fi
	tally "$name" meson "$logs" $status
}

# repeat_add CHECK TESTS: keeps the names, a line each, for the last lines.
repeat_add() {
	[ -z "$2" ] || repeated="$repeated$(printf '%s\n' "$2" | sed "s/^/   $1: /")
"
}

# Names the tests that passed only when repeated, and the ones among them that tests/repeated.txt does not name.
name_repeated() {
	[ -n "$repeated" ] || return 0
	printf '== %s passed only when repeated alone:\n%s' "$(printf %s "$repeated" | wc -l)" "$repeated"
	# shellcheck disable=SC2086 # an interpreter with its option
	unlisted=$(printf %s "$repeated" | $python tools/tally.py unlisted tests/repeated.txt) || unlisted=$repeated
	[ -n "$unlisted" ] || return 0
	printf '== new among them, to be mended or added to tests/repeated.txt:\n%s\n' "$unlisted"
}

clang_name() {
	command -v clang-14 >/dev/null && echo clang-14 || echo clang
}

# Any finding ends the program; leaks too.
ASAN_OPTIONS='abort_on_error=1:detect_stack_use_after_return=1'
UBSAN_OPTIONS='halt_on_error=1:abort_on_error=1:print_stacktrace=1'
TSAN_OPTIONS='halt_on_error=1:abort_on_error=1'
SANITIZER_REPORT='ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error: '
export ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS

check_format() {
	command -v clang-format-14 >/dev/null || {
		printf '== format: not checked: clang-format 14, which decides, is not packaged here\n'
		return
	}
	one format ./dev format --check
}

check_layers() {
	one layers tools/layers.py
}

check_tree() {
	# shellcheck disable=SC2086 # an interpreter with its option
	one tree $python tools/tree.py
}

check_shell() {
	one shell shellcheck dev .ci/run tools/*.sh packaging/*.sh packaging/ci/*.sh packaging/debian/tests/smoke packaging/debian/*.preinst packaging/debian/*.postrm
}

check_openapi() {
	one openapi tools/openapi.sh
}

check_unit() {
	[ -z "$passed_report" ] || {
		printf '== unit: not again: all passed in the bare system, and run here under ASan\n'
		return
	}
	build unit build && meson_tests unit build
}

# The report of the end-to-end tests that passed in a bare system: they are not run again on this one.
passed_report=

# newcomer NAME SUITE WHO TURN
# With --all ./dev test runs in one of the two, in turn by the second of the commit: it takes ten minutes.
newcomer() {
	[ "$(id -u)" = 0 ] || {
		printf '== %s: not checked: debootstrap and chroot need root\n' "$1"
		return
	}
	[ -z "$in_turn" ] || [ $(($(git log -1 --format=%ct) % 2)) = "$4" ] || {
		one "$1" tools/newcomer.sh "$2" "$3" untested
		return
	}
	one "$1" tools/newcomer.sh "$2" "$3"
	[ -z "$in_turn" ] || [ ! -f ".peers/debian/$2-newcomer.xml" ] || passed_report=.peers/debian/$2-newcomer.xml
}

check_newcomer_12() {
	newcomer newcomer-12 bookworm root 0
}

check_newcomer_13() {
	newcomer newcomer-13 trixie user 1
}

# The unit and end-to-end tests of the files that have changed since origin/main.
check_changed() {
	build changed build || return
	# shellcheck disable=SC2086 # an interpreter with its option
	if ! unit=$($python tools/changed.py unit) || ! e2e=$($python tools/changed.py e2e); then
		add 0 1 changed
		return
	fi
	# shellcheck disable=SC2086 # one word each
	[ -z "$unit" ] || meson_tests changed-unit build $unit
	[ -n "$e2e" ] || return 0
	export UNHEX_TESTS=bare
	# shellcheck disable=SC2086 # one word each
	end_to_end changed.xml -n $workers --dist loadfile $e2e
	tally changed-e2e junit "$reports" $?
	unset UNHEX_TESTS
}

# Tests that need what a bare system lacks are left out (tests/e2e/helpers/beyond.py); what the machine does not permit is
# skipped, and named.
check_e2e() {
	build e2e build || return
	export UNHEX_TESTS=bare
	end_to_end e2e.xml -n $workers --dist loadfile
	status=$?
	cp "$reports" build/e2e.xml
	[ $status -ne 1 ] || e2e_again
	tally e2e junit "$reports" $status
	# shellcheck disable=SC2086 # an interpreter with its option
	$python tools/tally.py skipped "$reports"
	unset UNHEX_TESTS
}

# All end-to-end tests: nothing may be skipped.
check_e2e_all() {
	build e2e-all build || return
	one corpus tools/corpus.sh --sample
	one go-programs tools/corpus.sh --go
	one axe tools/axe.sh
	one speedscope tools/speedscope.sh
	# Stable is a must; unstable may be half built, and then there is one fewer to test with.
	tools/interpreters.sh bookworm trixie >/dev/null || add 0 1 'interpreters of stable'
	tools/interpreters.sh sid >/dev/null || printf '== no interpreters of sid\n'
	for peer in perf clients samply llvm; do
		tools/peers.sh $peer >/dev/null || printf '== no %s of sid: the tests that compare with it are left out\n' $peer &
	done
	wait
	turn=
	[ -z "$in_turn" ] || turn=$(($(git log -1 --format=%ct) / 2 % 4))
	[ -z "$passed_report" ] || printf '== e2e-all: without the tests that passed in the bare system\n'
	[ -z "$turn" ] || printf '== e2e-all: with a quarter of the longest tests (tests/e2e/helpers/turns.py)\n'
	UNHEX_TURN=$turn UNHEX_PASSED=$passed_report end_to_end e2e.xml -n $workers --dist loadfile --durations=30
	status=$?
	[ $status -ne 1 ] || e2e_again
	tally e2e-all junit "$reports" $status
}

# end_to_end REPORT PYTEST_OPTION... [TEST...]: all tests, or those that are named.
end_to_end() {
	reports=$work/$1
	shift
	tests=tests/e2e
	for word in "$@"; do
		case $word in
		tests/e2e/*) tests= ;;
		esac
	done
	# shellcheck disable=SC2086 # an interpreter with its option
	UNHEX="$PWD/build/cli/unhex" $python -m pytest -q -rs -o cache_dir="$work/pytest" --basetemp="$work/tests" "$@" \
		--junitxml="$reports" $tests
}

# The tests look at processes that are alive, beside as many others as there are cores: what failed is run once more,
# alone, and name_repeated() names what then passed. A sanitizer's report is a proof, and is not repeated.
e2e_again() {
	! grep -qE "$SANITIZER_REPORT" "$work/e2e.xml" || return 0
	printf '== e2e: what failed, once more and alone\n'
	end_to_end again.xml --last-failed --last-failed-no-failures=none
	status=$?
	# shellcheck disable=SC2086 # an interpreter with its option
	repeat_add e2e "$($python tools/tally.py again "$work/e2e.xml" "$work/again.xml")"
	reports="$work/e2e.xml,$work/again.xml"
}

# Hostile uploads against every route of a server with little memory.
check_attack() {
	build attack build || return
	# shellcheck disable=SC2086 # an interpreter with its option
	UNHEX="$PWD/build/cli/unhex" $python -m pytest -q -rs -o cache_dir="$work/pytest" --basetemp="$work/tests" \
		--junitxml="$work/attack.xml" tests/attack
	tally attack junit "$work/attack.xml" $?
}

check_oracle() {
	build oracle build || return
	printf '== oracle\n'
	one corpus tools/corpus.sh --sample
	# shellcheck disable=SC2086 # an interpreter with its option
	$python tests/oracle/run.py --sample --unhex build/cli/unhex --counts "$work/oracle"
	tally oracle counts "$work/oracle" $?
	# A sample of the system's libraries, split: gdb, lldb, readelf and eu-elflint read both parts.
	# shellcheck disable=SC2086 # an interpreter with its option
	one split $python tests/oracle/split.py --unhex build/cli/unhex --most 12 --lldb 4 \
		--bytes 4194304 "/usr/lib/$(uname -m)-linux-gnu"
}

# Another compiler's warnings, which need no code: a quarter of the time.
check_clang() {
	[ -f build-clang/build.ninja ] || CC=$(clang_name) meson setup build-clang -Dwerror=true >"$work/setup" ||
		cat "$work/setup"
	ninja -C build-clang --quiet build.ninja # a folder from before knows no new files
	# shellcheck disable=SC2046 # one word each
	ninja -C build-clang --quiet $(ninja -C build-clang -t targets all | sed -n 's/\(\.[ch]\): CUSTOM_COMMAND$/\1/p')
	# shellcheck disable=SC2086 # an interpreter with its option
	one clang $python tools/compiler_warnings.py build-clang
}

setup_asan() {
	[ -f build-asan/build.ninja ] || meson setup build-asan -Dwerror=true -Dc_args=-w -Doptimization=1 \
		-Db_sanitize=address,undefined -Db_lundef=false
}

check_asan() {
	prebuild_end
	setup_asan >"$work/setup" || cat "$work/setup"
	build asan build-asan && meson_tests asan build-asan --timeout-multiplier 3
}

setup_tsan() {
	[ -f build-tsan/build.ninja ] || meson setup build-tsan -Dwerror=true -Dc_args=-w -Doptimization=1 \
		-Db_sanitize=thread -Db_lundef=false
}

tsan_programs() {
	# shellcheck disable=SC2086 # an interpreter with its option
	meson introspect build-tsan --tests | $python -c 'import json, os, sys
programs = {test["cmd"][0] for test in json.load(sys.stdin) if "unhex:threads" in test["suite"]}
print(*(os.path.relpath(p, "build-tsan") for p in sorted(programs)), sep="\n")'
}

# The programs that have threads (tests/unit/meson.build names them): the others would only take time.
check_tsan() {
	printf '== build tsan\n'
	prebuild_end
	setup_tsan >"$work/setup" || cat "$work/setup"
	ninja -C build-tsan --quiet build.ninja # a folder from before knows no new tests
	programs=$(tsan_programs)
	# shellcheck disable=SC2086 # one word each
	one tsan-build ninja -C build-tsan --quiet cli/unhex $programs &&
		meson_tests tsan build-tsan --timeout-multiplier 5 --suite threads &&
		one tsan-threads timeout 900 tools/threads.sh build-tsan/cli/unhex
}

# As a packager builds: with the optimizer's warnings, and with link-time optimization.
check_release() {
	build release build-release --buildtype=release -Dtests=disabled &&
		one release-command build-release/cli/unhex lookup build-release/cli/unhex main+0
}

# With it each program takes as long to link as the command: these few have the wrappers of malloc().
check_lto() {
	printf '== build lto\n'
	[ -f build-lto/build.ninja ] ||
		meson setup build-lto -Dwerror=true --buildtype=release -Db_lto=true >"$work/setup" ||
		cat "$work/setup"
	one lto-build ninja -C build-lto --quiet cli/unhex tests/unit/test_lib tests/unit/test_net
	one lto-lib build-lto/tests/unit/test_lib elf gsym_reader dwarf_unit
	one lto-net build-lto/tests/unit/test_net
	one lto-command build-lto/cli/unhex lookup build-lto/cli/unhex main+0
}

# The other release of Debian, bare: installs what it needs there, builds as a packager, and tests.
check_debian_13() {
	[ "$(id -u)" = 0 ] || {
		printf '== debian-13: skipped: debootstrap and chroot need root\n'
		return
	}
	one debian-13 tools/debian.sh trixie sh -c './dev test --here quick &&
		{ [ -f build-release/build.ninja ] || meson setup build-release --buildtype=release -Dwerror=true \
			-Dtests=disabled; } && ninja -C build-release --quiet'
}

# The same, with everything that end-to-end tests need: half an hour alone, and 3 GB.
check_debian_13_e2e() {
	[ "$(id -u)" = 0 ] || {
		printf '== debian-13-e2e: skipped: debootstrap and chroot need root\n'
		return
	}
	# npm's packages are fetched here, with the configuration of this system, and copied.
	one debian-13-e2e sh -c 'tools/axe.sh && tools/speedscope.sh && tools/openapi.sh &&
		tools/debian.sh trixie ./dev test --here unit e2e-all'
}

# Debian packages, on both: built twice with the same bytes, without errors of lintian, installed,
# upgraded and purged.
check_package() {
	[ "$(id -u)" = 0 ] || {
		printf '== package: skipped: debootstrap and chroot need root\n'
		return
	}
	one package tools/package.sh
}

check_rpm() {
	one rpm tools/rpm.sh
}

# The root of the server's image, without a container runtime.
check_container() {
	[ "$(id -u)" = 0 ] || {
		printf '== container: skipped: chroot needs root\n'
		return
	}
	build container build-release --buildtype=release && one container tools/container.sh build-release/cli/unhex
}

# The static program, tried in empty roots against a server of the other build.
check_static() {
	[ "$(id -u)" = 0 ] || {
		printf '== static: skipped: chroot and a network of its own need root\n'
		return
	}
	build static build-release --buildtype=release && one static tools/static.sh build-release/cli/unhex
}

# A cross build for arm64, tried with qemu-user in a bare system; its bytes are compared with the static program's.
check_arm64() {
	[ "$(id -u)" = 0 ] || {
		printf '== arm64: skipped: debootstrap and chroot need root\n'
		return
	}
	[ -x packages/static/unhex ] || one static-program tools/static.sh
	one arm64 tools/arm64.sh
}

# The parts of ./dev release that need no bare system.
check_release_files() {
	one release-files tools/release_try.sh
}

prebuild_begin
for check in $checks; do
	is_late "$check" || "check_$(printf %s "$check" | tr - _)"
done
prebuild_end
name_repeated
[ -z "$failures" ] || {
	printf '== failed:%s\n' "$failures"
	head -n 40 "$work/names" 2>/dev/null
}
[ -z "$late" ] || printf '== not run, for lack of time:%s\n' "$late"
[ "$skipped" = 0 ] || printf '%s skipped: this machine does not permit them; as root outside of a container it does\n' "$skipped"
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
