# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# apt without touching the machine's own apt configuration. To be sourced after ui.sh and distro.sh.
#
# Two private views live in $WORK: "host" sees the machine's sources plus NEWER_SUITE, pinned so low that nothing but
# the named packages can come from it, and shares dpkg's real status, so that it can install; "unpack" sees only the
# newer suites and an empty status, and can only download.

LOCK_WAIT=${STEWARD_APT_WAIT:-300}   # seconds to wait for another apt
APT_HOST=()
APT_UNPACK=()
MIRROR=''
MIRROR_SUITE=''
LISTS='the package lists'

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "installing packages needs root and there is no sudo here; run tools/setup as root once"
    fi
}

# apt_try LOG WHAT COMMAND...: one apt command, waiting while another apt holds the lock.
apt_try() {
    local log=$1 what=$2 waited=0
    shift 2
    until step "$log" "$what" "$@"; do
        grep -qsE 'Could not get lock|Unable to (lock|acquire)' "$log" || return 1
        ((waited > 0)) || say "  another apt is at work; waiting up to $LOCK_WAIT s for it"
        ((waited < LOCK_WAIT)) ||
            die "another apt still holds the lock after $LOCK_WAIT s; let it finish, then run tools/setup again"
        sleep 5
        waited=$((waited + 5))
    done
}

link_all() {
    local from=$1 to=$2 file
    mkdir -p "$to" 2>/dev/null || full_disk "$LISTS"
    for file in "$from"/*; do
        [[ ! -e $file ]] || ln -sf "$file" "$to/" 2>/dev/null || full_disk "$LISTS"
    done
}

view_options() {
    local dir=$1
    mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/sources.d" "$dir/preferences.d" 2>/dev/null ||
        return
    printf '%s\n' -o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir/cache" \
        -o Dir::Etc::sourceparts="$dir/sources.d" -o Dir::Etc::preferencesparts="$dir/preferences.d" \
        -o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Sandbox::User=root \
        -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false
}

# The mirror from which this machine installs, as its own apt understands its own configuration.
find_mirror() {
    local line
    line=$(apt-get "${APT_HOST[@]}" indextargets --format "\$(REPO_URI) \$(RELEASE)" 'Created-By: Packages' |
        grep -E ' (bookworm|trixie|plucky|stable|oldstable)$' | sort -u | head -n 1) || true
    MIRROR=${line% *}
    MIRROR_SUITE=${line##* }
    [[ -n $MIRROR ]] || return 1
}

source_line() {
    local keyring=/usr/share/keyrings/debian-archive-keyring.gpg option=''
    [[ $DISTRO != debian* || ! -r $keyring ]] || option=" [signed-by=$keyring]"
    printf '%s%s %s %s main\n' "$1" "$option" "$MIRROR" "$2"
}

pin_newer() {
    local entry
    printf 'Package: *\nPin: release n=%s\nPin-Priority: -1\n\n' "$NEWER_SUITE"
    printf 'Package:'
    for entry in "${NEWER[@]}"; do printf ' %s' "${entry%% *}"; done
    printf ' %s' "${NEWER_WITH[@]}"
    printf '\nPin: release n=%s\nPin-Priority: 600\n' "$NEWER_SUITE"
}

open_host_view() {
    local dir=$WORK/host-view log=$WORK/update.log
    ((${#APT_HOST[@]} == 0)) || return 0
    mapfile -t APT_HOST < <(view_options "$dir")
    ((${#APT_HOST[@]} > 0)) || full_disk "$LISTS"
    link_all /etc/apt/sources.list.d "$dir/sources.d"
    link_all /etc/apt/preferences.d "$dir/preferences.d"
    say "reading the package lists of this machine's mirror"
    # One broken third-party source must not stop the rest, hence no look at the status.
    apt_try "$log" 'reading package lists' apt-get "${APT_HOST[@]}" update || true
    find_mirror || blame "$LISTS" "$log" "no package list could be fetched ($(cause "$log")); check the network and \
/etc/apt, then run tools/setup again"
    [[ -n $NEWER_SUITE ]] || return 0
    if ! apt-get "${APT_HOST[@]}" indextargets --format "\$(RELEASE)" | grep -qx "$NEWER_SUITE"; then
        source_line deb "$NEWER_SUITE" 2>/dev/null >"$dir/sources.d/steward.list" || full_disk "$LISTS"
    fi
    pin_newer 2>/dev/null >"$dir/preferences.d/00steward" || full_disk "$LISTS"
    apt_try "$log" 'reading package lists' apt-get "${APT_HOST[@]}" update || true
    apt-get "${APT_HOST[@]}" indextargets --format "\$(RELEASE)" | grep -qx "$NEWER_SUITE" ||
        blame "$LISTS" "$log" "$NEWER_SUITE cannot be read from this machine's mirror ($(cause "$log")); use a mirror \
that carries it"
}

open_unpack_view() {
    local dir=$WORK/unpack-view log=$WORK/update.log suite
    ((${#APT_UNPACK[@]} == 0)) || return 0
    open_host_view
    mapfile -t APT_UNPACK < <(view_options "$dir")
    { ((${#APT_UNPACK[@]} > 0)) && : 2>/dev/null >"$dir/status"; } || full_disk "$LISTS"
    APT_UNPACK+=(-o Dir::Etc::sourcelist="$dir/sources.d/steward.list" -o Dir::Etc::preferences=/dev/null
        -o Dir::State::status="$dir/status")
    {
        for suite in "${UNPACK_SUITES[@]}"; do source_line deb "$suite"; done
        source_line deb-src "$SOURCE_SUITE"
    } 2>/dev/null >"$dir/sources.d/steward.list" || full_disk "$LISTS"
    say "reading the package lists of ${UNPACK_SUITES[*]} $SOURCE_SUITE"
    apt_try "$log" 'reading package lists' apt-get "${APT_UNPACK[@]}" update ||
        blame "$LISTS" "$log" "the suites ${UNPACK_SUITES[*]} and $SOURCE_SUITE cannot be read from this machine's \
mirror ($(cause "$log")); check the network or use a mirror that carries them"
}

# install_check LOG PACKAGE...: refuses a plan that would change the C library's release or remove anything.
install_check() {
    local log=$1 old new gone
    shift
    step "$log" 'planning the installation' apt-get "${APT_HOST[@]}" -s install --no-install-recommends "$@" ||
        blame "$LISTS" "$log" "apt finds no way to install what is needed ($(cause "$log")); repair the packages of \
this machine with 'apt-get -f install'"
    gone=$(sed -n 's/^Remv \([^ ]*\).*/\1/p' "$log" | head -n 5 | tr '\n' ' ')
    [[ -z $gone ]] || die "installing would remove ${gone% }; nothing was changed, resolve that conflict with apt first"
    old=$(dpkg-query -W -f '${Version}' libc6 2>/dev/null) || true
    new=$(sed -n 's/^Inst libc6 \(\[[^]]*\] \)\?(\([^ ]*\) .*/\2/p' "$log" | head -n 1)
    # A security update of the same release (2.36-9+deb12u7) is what libc6-dev asks for; another release never is.
    [[ -z $new || ${old%%-*} == "${new%%-*}" ]] ||
        die "installing would replace libc6 $old by $new; nothing was changed, take the newer suites out of /etc/apt"
}

install_packages() {
    local log=$WORK/install.log
    (($# > 0)) || return 0
    open_host_view
    install_check "$log" "$@"
    say "installing $(grep -c '^Inst ' "$log") packages"
    apt_try "$log" 'installing packages' as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get "${APT_HOST[@]}" -y -o Dpkg::Options::=--force-confold install --no-install-recommends "$@" ||
        die "installing packages failed ($(cause "$log")); mend that with apt, then run tools/setup again"
    rm -rf "$WORK/host-view/cache/archives"
}

# Prints those of PACKAGES and NEWER that are missing or too old.
missing_packages() {
    local -A have=()
    local name version status entry
    while read -r status name version; do
        [[ $status != ii* ]] || have[${name%%:*}]=$version
    done < <(dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' 2>/dev/null)
    for name in "${PACKAGES[@]}"; do
        [[ -n ${have[$name]:-} ]] || printf '%s\n' "$name"
    done
    for entry in "${NEWER[@]}"; do
        name=${entry%% *}
        [[ -n ${have[$name]:-} ]] && dpkg --compare-versions "${have[$name]}" ge "${entry#* }" || printf '%s\n' "$name"
    done
}
