#!/usr/bin/env bash
# Says which coldspot is to run: one that is installed, a released one, which this downloads and checks, or one to be built.
set -euo pipefail
export LC_ALL=C

fail() {
    printf '::error title=coldspot::%s\n' "$1"
    exit 2
}

if [[ -n ${IN_BINARY:-} ]]; then
    printf 'binary=%s\n' "$IN_BINARY" | head -n 1 >>"$GITHUB_OUTPUT"
    exit 0
fi

if [[ ${IN_BUILD:-} == true ]]; then
    cd "$GITHUB_ACTION_PATH"
    # Whatever it is made of, and what it is linked with, changes the key.
    digest=$(find Cargo.toml Cargo.lock build.rs engine rules schemas templates -type f -print0 | sort -z |
        xargs -0 sha256sum | sha256sum | cut -c 1-64)
    libc=$(getconf GNU_LIBC_VERSION 2>/dev/null || printf 'libc')
    {
        # The same words on every runner: a cache is found by its paths as well.
        printf 'root=%s\n' "$HOME/.cache/coldspot-action"
        printf 'binary=%s\n' "$HOME/.cache/coldspot-action/bin/coldspot"
        printf 'key=coldspot-%s-%s-%s-%s\n' "${RUNNER_OS:-}" "${RUNNER_ARCH:-}" "${libc// /-}" "$digest"
    } >>"$GITHUB_OUTPUT"
    exit 0
fi

version=${IN_VERSION:-}
if [[ -z $version ]]; then
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$GITHUB_ACTION_PATH/Cargo.toml" | head -n 1)
fi
if [[ ! $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]]; then fail "the input 'version' is a number such as 0.1.0"; fi
name="coldspot-$version-$(uname -m)-unknown-linux-musl.tar.gz"
sum=${IN_CHECKSUM:-}
if [[ -z $sum && -f $GITHUB_ACTION_PATH/action/SHA256SUMS ]]; then
    sum=$(sed -n "s/^\([0-9a-f]\{64\}\)  ${name//./\\.}\$/\1/p" "$GITHUB_ACTION_PATH/action/SHA256SUMS" | head -n 1)
fi
if [[ ! $sum =~ ^[0-9a-f]{64}$ ]]; then
    # Nothing is downloaded that cannot be checked. .ci/release writes the file, which only tagged versions hold.
    if [[ ! -f $GITHUB_ACTION_PATH/action/SHA256SUMS ]]; then
        fail "this copy of the action is no release, so no checksum is known of $name: use the action at a released version, or give \
the input 'checksum', 'binary', or 'build: true' to build coldspot from the action's source"
    fi
    fail "no checksum is known of $name: give the input 'checksum', or 'build: true' to build coldspot from the action's source"
fi
from=${IN_RELEASES:-$GITHUB_SERVER_URL/$GITHUB_ACTION_REPOSITORY/releases/download}
root=$(mktemp -d "$RUNNER_TEMP/coldspot-install.XXXXXX")
trust=()
if [[ -n ${IN_CA_FILE:-} ]]; then trust+=(--cacert "$IN_CA_FILE"); fi
if ! curl "${trust[@]}" --fail --silent --show-error --location --retry 3 --max-time 120 --output "$root/$name" "$from/v$version/$name"; then
    fail "$from/v$version/$name cannot be downloaded: give the input 'binary', or 'build: true'"
fi
if ! printf '%s  %s\n' "$sum" "$root/$name" | sha256sum --check --status; then
    fail "$name is not what it should be: its checksum differs"
fi
tar --extract --gzip --file "$root/$name" --directory "$root" coldspot
printf 'binary=%s\n' "$root/coldspot" >>"$GITHUB_OUTPUT"
