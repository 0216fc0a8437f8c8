#!/usr/bin/env bash
# Runs coldspot as the inputs of action.yml say. They arrive in variables IN_* and are only ever used quoted: nothing of
# them, and nothing of a report, is evaluated or printed by this script.
set -euo pipefail

fail() {
    printf '::error title=coldspot::%s\n' "$1"
    exit 2
}

# Appends the lines of $2 that are not blank to the array named $1, without the white space around them.
lines() {
    local -n into=$1
    local line
    while IFS= read -r line; do
        line="${line#"${line%%[![:space:]]*}"}"
        line="${line%"${line##*[![:space:]]}"}"
        if [[ -n $line ]]; then into+=("$line"); fi
    done <<<"$2"
}

# As lines, for paths: one that begins with a dash must not become an option.
paths() {
    local -n of=$1
    local found=() path
    lines found "$2"
    for path in "${found[@]}"; do
        if [[ $path == -* ]]; then path="./$path"; fi
        of+=("$path")
    done
}

sides=()
case "$IN_MODE" in
review)
    reports=()
    paths reports "$IN_REPORT"
    if [[ ${#reports[@]} -ne 1 ]]; then fail "mode 'review' needs the input 'report': one path"; fi
    sides+=("${reports[0]}")
    ;;
compare)
    base=() head=()
    paths base "$IN_BASE"
    paths head "$IN_HEAD"
    if [[ ${#base[@]} -eq 0 || ${#head[@]} -eq 0 ]]; then
        fail "mode 'compare' needs the inputs 'base' and 'head': one path a line"
    fi
    sides+=(--base "${base[@]}" --head "${head[@]}")
    ;;
*) fail "the input 'mode' is 'review' or 'compare'" ;;
esac

options=() config=() baseline=() budgets=() extra=()
paths config "$IN_CONFIG"
for path in "${config[@]}"; do options+=(--config "$path"); done
paths baseline "$IN_BASELINE"
for path in "${baseline[@]}"; do options+=(--baseline "$path"); done
lines budgets "$IN_BUDGETS"
for budget in "${budgets[@]}"; do options+=("--budget=$budget"); done
if [[ -n $IN_FAIL_ON ]]; then options+=("--fail-on=$IN_FAIL_ON"); fi
if [[ -n $IN_MAX_TIME ]]; then options+=("--max-time=$IN_MAX_TIME"); fi
if [[ -n $IN_MAX_MEMORY ]]; then options+=("--max-memory=$IN_MAX_MEMORY"); fi
lines extra "$IN_ARGS"
options+=("${extra[@]}")

folder=$(mktemp -d "$RUNNER_TEMP/coldspot.XXXXXX")
# Each format is a run of its own: a file is there whole, or not at all.
write() {
    "$IN_BINARY" "$IN_MODE" "${options[@]}" --format "$1" --output "$folder/$2" "${sides[@]}"
}

code=0
write markdown coldspot.md || code=$?
printf 'exit-code=%s\n' "$code" >>"$GITHUB_OUTPUT"
case "$code" in
0) verdict=pass ;;
1) verdict=fail ;;
5) verdict=not-comparable ;;
*) verdict=error ;;
esac
printf 'verdict=%s\n' "$verdict" >>"$GITHUB_OUTPUT"

# Without a text there is nothing to show; the last step ends the job with the code.
if [[ ! -s $folder/coldspot.md ]]; then exit 0; fi
printf 'markdown=%s\n' "$folder/coldspot.md" >>"$GITHUB_OUTPUT"
# A summary of more than 1 MiB is refused as a whole.
if [[ $(wc -c <"$folder/coldspot.md") -le 1000000 ]]; then
    cat "$folder/coldspot.md" >>"$GITHUB_STEP_SUMMARY"
else
    printf '%s\n' "The review is too long for a summary: see the action's output 'markdown'." >>"$GITHUB_STEP_SUMMARY"
fi
if [[ $IN_ANNOTATIONS == true ]]; then
    write github annotations.txt || true
    if [[ -s $folder/annotations.txt ]]; then cat "$folder/annotations.txt"; fi
fi
if [[ $IN_SARIF == true ]]; then
    write sarif coldspot.sarif || true
    if [[ -s $folder/coldspot.sarif ]]; then printf 'sarif=%s\n' "$folder/coldspot.sarif" >>"$GITHUB_OUTPUT"; fi
fi
