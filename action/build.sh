#!/usr/bin/env bash
# Builds coldspot from the action's source, unless what the cache brought runs on this machine.
set -euo pipefail

if "$ROOT/bin/coldspot" --version >/dev/null 2>&1; then exit 0; fi
export CARGO_TARGET_DIR="$RUNNER_TEMP/coldspot-target"
cargo install --locked --force --path "$GITHUB_ACTION_PATH" --root "$ROOT"
rm -rf "$CARGO_TARGET_DIR"
