# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Setting up and building, as tools/check and tools/try do it. To be sourced after ui.sh, by a script that has set
# TOP, the top of the work tree.

BUILD=$TOP/build
CHILD='' # the running command; leads a process group of its own

heading() { printf '\n== %s\n' "$*"; }

# Nothing may outlive us: the group of the running command is told to end and waited for.
interrupted() {
    trap - INT TERM HUP
    say "$1${CHILD:+; ending what runs}"
    if [[ -n $CHILD ]]; then
        kill -TERM -- "-$CHILD" 2>/dev/null || true
        wait "$CHILD" 2>/dev/null || true
    fi
    exit "$2"
}

catch_interrupts() {
    trap 'interrupted interrupted 130' INT
    trap 'interrupted terminated 143' TERM HUP
}

# Run a command in a process group of its own; its status.
# In the background, because bash answers a signal only between foreground commands.
run() {
    local status=0
    set -m
    "$@" </dev/null &
    CHILD=$!
    set +m
    wait "$CHILD" || status=$?
    CHILD=''
    return "$status"
}

# set_up [OPTION]...: install what is missing and learn where it is. In the foreground: it may ask for a password.
# shellcheck disable=SC2120
set_up() {
    "$TOP/tools/setup" "$@" || return
    eval "$("$TOP/tools/setup" --env)"
}

# configure FOLDER OPTION...: so that the folder is a build with these options. Seconds if it already is.
configure() {
    local folder=$1 packages options stamp
    shift
    # Each folder once, so that a shell that has read the environment before gives the same options.
    packages=$(tr : '\n' <<<"$PKG_CONFIG_PATH" | awk 'NF && !seen[$0]++' | paste -sd :)
    options=(--werror "-Dvmlinux-h=$STEWARD_VMLINUX_H" "-Dpkg_config_path=$packages" "$@")
    stamp="$(meson --version) ${options[*]}"
    if [[ -f $folder/build.ninja && $(cat "$folder/.configured" 2>/dev/null) == "$stamp" ]]; then
        return 0
    fi
    if [[ ! -d $folder/meson-private ]]; then
        run meson setup "$folder" "$TOP" "${options[@]}" || return
    elif ! run meson setup --wipe "$folder" "$TOP" "${options[@]}"; then
        # Half-made, or made by another meson. It is a build folder and holds nothing else.
        rm -rf -- "$folder"
        run meson setup "$folder" "$TOP" "${options[@]}" || return
    fi
    printf '%s\n' "$stamp" >"$folder/.configured"
}
