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
for path in "${config[@]}"; do
    if [[ -e $path ]]; then
        options+=(--config "$path")
    else
        printf '::notice title=coldspot::%s\n' "there is no file at the input 'config': no configuration is used"
        options+=(--no-config)
    fi
done
paths baseline "$IN_BASELINE"
for path in "${baseline[@]}"; do options+=(--baseline "$path"); done
lines budgets "$IN_BUDGETS"
for budget in "${budgets[@]}"; do options+=("--budget=$budget"); done
if [[ -n $IN_FAIL_ON ]]; then options+=("--fail-on=$IN_FAIL_ON"); fi
if [[ -n $IN_MAX_TIME ]]; then options+=("--max-time=$IN_MAX_TIME"); fi
if [[ -n $IN_MAX_MEMORY ]]; then options+=("--max-memory=$IN_MAX_MEMORY"); fi

if [[ $IN_MODE == compare ]]; then
    url="${GITHUB_SERVER_URL:-}/${GITHUB_REPOSITORY:-}/actions/runs/${GITHUB_RUN_ID:-}"
    if [[ -n ${GITHUB_RUN_ID:-} ]]; then options+=("--run-url=$url"); fi
    if [[ -n ${IN_PROGRAM:-} ]]; then options+=("--program=$IN_PROGRAM"); fi
    if [[ -n ${IN_BASE_COMMIT:-} ]]; then options+=("--base-commit=$IN_BASE_COMMIT"); fi
    if [[ -n ${IN_HEAD_COMMIT:-} ]]; then options+=("--head-commit=$IN_HEAD_COMMIT"); fi
fi
lines extra "$IN_ARGS"
options+=("${extra[@]}")

# One reading for all formats; a file is there whole, or not at all.
folder=$(mktemp -d "$RUNNER_TEMP/coldspot.XXXXXX")
formats=(--format "markdown=$folder/coldspot.md" --format "json=$folder/coldspot.json")
if [[ $IN_ANNOTATIONS == true ]]; then formats+=(--format "github=$folder/annotations.txt"); fi
if [[ $IN_SARIF == true ]]; then formats+=(--format "sarif=$folder/coldspot.sarif"); fi

code=0
"$IN_BINARY" "$IN_MODE" "${options[@]}" "${formats[@]}" "${sides[@]}" || code=$?
printf 'exit-code=%s\n' "$code" >>"$GITHUB_OUTPUT"
case "$code" in
0) verdict=pass ;;
1) verdict=fail ;;
5) verdict=not-comparable ;;
*) verdict=error ;;
esac
printf 'verdict=%s\n' "$verdict" >>"$GITHUB_OUTPUT"

# Keys of the object itself stand at the begin of a line, where no name of a report can.
if [[ -s $folder/coldspot.json ]]; then
    {
        printf 'json=%s\n' "$folder/coldspot.json"
        sed -n 's/^  "outcome": "\([a-z_]*\)",$/outcome=\1/p' "$folder/coldspot.json" | head -n 1
        sed -n 's/^    "told_share": \(-\{0,1\}[0-9.e-]*\),\{0,1\}$/change=\1/p' "$folder/coldspot.json" | head -n 1
    } >>"$GITHUB_OUTPUT"
fi

# Without a text nothing was measured; the last step ends the job with the code. What an older run said must not stay.
if [[ ! -s $folder/coldspot.md ]]; then
    {
        printf '## coldspot: ❌ could not be measured\n\n'
        printf 'This run ended without a result (exit code %s): what stood here before is not about this change any more.' "$code"
        if [[ ${IN_HEAD_COMMIT:-} =~ ^[0-9a-f]{7,64}$ ]]; then printf ' Head: `%s`.' "$IN_HEAD_COMMIT"; fi
        if [[ ${url:-} =~ ^https?://[A-Za-z0-9./_:-]+$ ]]; then printf ' [The run](%s) says why.' "$url"; fi
        printf '\n'
    } >"$folder/coldspot.md"
fi
printf 'markdown=%s\n' "$folder/coldspot.md" >>"$GITHUB_OUTPUT"
# A summary of more than 1 MiB is refused as a whole.
if [[ $(wc -c <"$folder/coldspot.md") -le 1000000 ]]; then
    cat "$folder/coldspot.md" >>"$GITHUB_STEP_SUMMARY"
else
    printf '%s\n' "The review is too long for a summary: see the action's output 'markdown'." >>"$GITHUB_STEP_SUMMARY"
fi
if [[ -s $folder/annotations.txt ]]; then cat "$folder/annotations.txt"; fi
if [[ -s $folder/coldspot.sarif ]]; then printf 'sarif=%s\n' "$folder/coldspot.sarif" >>"$GITHUB_OUTPUT"; fi
