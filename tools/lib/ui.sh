# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What every shell tool says to its user, and how it cleans up after itself.
# To be sourced. The caller sets TOOL, the name put before each line.

TOOL=${TOOL:-${0##*/}}
WORK=''        # temporary directory, removed on every way out
STEP_PID=''    # process group of the running step, ended on every way out
BEAT_PID=''    # the "still working" loop beside it

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
    [[ -z $BEAT_PID ]] || kill "$BEAT_PID" 2>/dev/null || true
    [[ -z $STEP_PID ]] || kill -TERM -- "-$STEP_PID" 2>/dev/null || true
    [[ -z $WORK ]] || rm -rf -- "$WORK"
    exit "$status"
}

catch_signals() {
    trap clean_up EXIT
    trap 'ours && say "interrupted; run it again to go on where it stopped"; exit 130' INT
    trap 'ours && say "terminated; run it again to go on where it stopped"; exit 143' TERM HUP
}

# Prints a line every 15 seconds, so that nobody takes a long step for a hang.
beat() {
    local what=$1 seconds=0 never out
    # We outlive a parent that is killed: not for long, and its lock must not.
    [[ -z ${LOCK:-} ]] || exec {LOCK}>&-
    # What bash itself may have to say when this loop is killed is nobody's business.
    exec {out}>&2 2>/dev/null
    # Waiting for input that never comes, because a sleep would outlive us and hold our caller's pipe open.
    exec {never}<> <(:)
    until read -rt 15 -u "$never"; do
        kill -0 "$$" 2>/dev/null || return
        seconds=$((seconds + 15))
        say "  still $what ($seconds s)" 2>&"$out"
    done
}

# step LOG WHAT COMMAND...: runs the command in a process group of its own with all output in LOG, and returns its
# status. In the background plus wait, because bash answers a signal only between foreground commands.
step() {
    local log=$1 what=$2 status=0
    shift 2
    beat "$what" &
    BEAT_PID=$!
    set -m
    # Where a full disk takes not even the log, the caller says so, not bash.
    "$@" 2>/dev/null >"$log" 2>&1 </dev/null &
    STEP_PID=$!
    set +m
    wait "$STEP_PID" || status=$?
    STEP_PID=''
    kill "$BEAT_PID" 2>/dev/null || true
    wait "$BEAT_PID" 2>/dev/null || true
    BEAT_PID=''
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
