#!/bin/sh
# Cargo: a release build with line tables, whose symbols are sent before it is stripped.
# [profile.release] debug = "line-tables-only" in Cargo.toml does the same as the variable.
set -eu
CARGO_PROFILE_RELEASE_DEBUG=1 RUSTFLAGS="${RUSTFLAGS:-} -C link-arg=-Wl,--build-id" cargo build --release --offline
unhex push target/release
