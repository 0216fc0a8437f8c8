#!/usr/bin/env bash
# Posts the comment, or says why there is none. The token is in GITHUB_TOKEN, and only there.
set -euo pipefail

notice() {
    printf '::notice title=coldspot::%s\n' "$1"
    exit 0
}

if [[ -z $IN_PULL ]]; then notice "no comment: this run belongs to no pull request"; fi
if [[ ! $IN_PULL =~ ^[1-9][0-9]{0,9}$ ]]; then
    printf '::error title=coldspot::%s\n' "the input 'pull-request' is a number"
    exit 2
fi
if [[ $GITHUB_EVENT_NAME == pull_request && -n $HEAD_REPOSITORY && $HEAD_REPOSITORY != "$GITHUB_REPOSITORY" ]]; then
    notice "no comment: a pull request from a fork may not write; docs/github-action.md shows the two workflows that can"
fi
options=()
# A review and a comparison of one pull request stand beside each other.
if [[ -z $IN_MARKER && $IN_MODE == review ]]; then IN_MARKER='<!-- coldspot:review -->'; fi
if [[ -n $IN_MARKER ]]; then options+=("--marker=$IN_MARKER"); fi
if [[ -n $IN_AUTHOR ]]; then options+=("--author=$IN_AUTHOR"); fi
if [[ -n ${IN_CA_FILE:-} ]]; then options+=("--ca-file=$IN_CA_FILE"); fi
"$IN_BINARY" comment --repo="$GITHUB_REPOSITORY" --pull="$IN_PULL" --body="$IN_BODY" "${options[@]}"
