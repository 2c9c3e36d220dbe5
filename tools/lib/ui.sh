# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What every shell tool says to its user, and how it cleans up after itself.
# To be sourced. The caller sets TOOL, the name put before each line.

TOOL=${TOOL:-${0##*/}}
WORK=''        # temporary directory, removed on every way out
STEP_PID=''    # process group of the running step, ended on every way out

say() { printf '%s: %s\n' "$TOOL" "$*" >&2; }

# One sentence: what was wrong, where, and what to do about it.
die() {
    say "$1"
    exit "${2:-1}"
}

# A child that is ended before bash has reset its traps still runs ours, and must not clean up for us.
ours() { [[ $BASHPID == "$$" ]]; }

clean_up() {
    local status=$?
    trap - EXIT INT TERM HUP
    ours || exit "$status"
    [[ -z $STEP_PID ]] || kill -TERM -- "-$STEP_PID" 2>/dev/null || true
    [[ -z $WORK ]] || rm -rf -- "$WORK"
    exit "$status"
}

catch_signals() {
    trap clean_up EXIT
    trap 'ours && say "interrupted; run it again to go on where it stopped"; exit 130' INT
    trap 'ours && say "terminated; run it again to go on where it stopped"; exit 143' TERM HUP
}

# Prints a line every 15 seconds, so that nobody takes a long step for a hang. Ends when its input does: when the step
# is over, or whoever started it has been killed.
beat() {
    local what=$1 seconds=0 status
    [[ -z ${LOCK:-} ]] || exec {LOCK}>&-
    while read -rt 15 || status=$?; do
        ((status > 128)) || return 0
        seconds=$((seconds + 15))
        say "  still $what ($seconds s)"
    done
}

# step LOG WHAT COMMAND...: runs the command in a process group of its own with all output in LOG, and returns its
# status. In the background plus wait, because bash answers a signal only between foreground commands.
step() {
    local log=$1 what=$2 status=0 heart beat
    shift 2
    exec {heart}> >(beat "$what")
    beat=$!
    set -m
    # Where a full disk takes not even the log, the caller says so, not bash.
    "$@" 2>/dev/null >"$log" 2>&1 </dev/null {heart}>&- &
    STEP_PID=$!
    set +m
    wait "$STEP_PID" || status=$?
    STEP_PID=''
    exec {heart}>&-
    wait "$beat" 2>/dev/null || true
    return "$status"
}

# The line of a log that most likely names the cause.
cause() {
    local line
    line=$(grep -sE '^E: |No space left|rror:|fatal:|ailed|annot|denied' "$1" | head -n 1) || true
    [[ -n $line ]] || line=$(grep -sv '^[[:space:]]*$' "$1" | tail -n 1) || true
    line=${line#E: }
    printf '%.300s' "${line:-no message}"
}
