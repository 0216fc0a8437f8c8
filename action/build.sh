#!/usr/bin/env bash
# Says where coldspot is to be built, and under which key it is cached: whatever it is made of changes the key.
set -euo pipefail
export LC_ALL=C

root="$RUNNER_TEMP/coldspot-install"
if [[ -n ${IN_BINARY:-} ]]; then
    printf 'binary=%s\n' "$IN_BINARY" | head -n 1 >>"$GITHUB_OUTPUT"
    exit 0
fi
cd "$GITHUB_ACTION_PATH"
digest=$(find Cargo.toml Cargo.lock build.rs engine rules schemas templates -type f -print0 | sort -z |
    xargs -0 sha256sum | sha256sum | cut -c 1-64)
{
    printf 'root=%s\n' "$root"
    printf 'binary=%s\n' "$root/bin/coldspot"
    printf 'key=coldspot-%s-%s-%s-%s\n' "${RUNNER_OS:-}" "${RUNNER_ARCH:-}" "${ImageOS:-}" "$digest"
} >>"$GITHUB_OUTPUT"
