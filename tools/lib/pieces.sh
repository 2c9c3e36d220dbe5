# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What lives in the cache folder. To be sourced after ui.sh, distro.sh and apt.sh.
#
# Each piece is a folder with a .stamp that names its recipe. It is built in a temporary folder of the same file system
# and renamed into place, so that it is either there and whole, or not there.

HOME=${HOME:-$(getent passwd "$EUID" | cut -d: -f6)}
CACHE=${STEWARD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/scx_steward}
[[ $CACHE == /* ]] || CACHE=$PWD/$CACHE

# Raise a piece's number when its recipe below changes.
RECIPE_KERNEL=1
RECIPE_LIBBPF=1
RECIPE_VMLINUX=1
RECIPE_VIRTME=1

# MB that making the piece takes at its peak, download included.
NEED_KERNEL=450
NEED_LIBBPF=60
NEED_VMLINUX=20
NEED_VIRTME=10
NEED_LISTS=250

# Guests have virtio devices only. Dropping the rest of the drivers saves two thirds of a kernel.
UNUSED_MODULES=(
    sound
    drivers/{accel,ata,atm,bluetooth,comedi,edac,firewire,gnss,gpu,hid,hwmon,i2c,iio,infiniband,input,isdn,leds}
    drivers/{media,mfd,mmc,mtd,nfc,pinctrl,platform,power,rtc,soundwire,spi,staging,thunderbolt,ufs,usb,video}
    drivers/{w1,watchdog}
    drivers/net/{appletalk,arcnet,can,dsa,ethernet,fddi,hamradio,ieee802154,mdio,pcs,phy,plip,usb,wireless,wwan}
    drivers/scsi/{aacraid,aic7xxx,aic94xx,arcmsr,be2iscsi,bfa,bnx2fc,bnx2i,csiostor,cxgbi,elx,esas2r,fcoe,fnic}
    drivers/scsi/{hisi_sas,isci,libfc,lpfc,megaraid,mpi3mr,mpt3sas,mvsas,mvumi,pm8001,qedf,qedi,qla2xxx,qla4xxx}
    drivers/scsi/{smartpqi,snic,sym53c8xx_2}
)

check_cache() {
    [[ -n $HOME || -n ${STEWARD_CACHE:-}${XDG_CACHE_HOME:-} ]] ||
        die "your home folder is not known; set STEWARD_CACHE to a folder for what is downloaded" 2
    [[ $CACHE != *[[:space:]]* ]] ||
        die "the cache folder '$CACHE' has white space in its path; set STEWARD_CACHE to one without" 2
}

piece_ready() {
    [[ -r $CACHE/$1/.stamp && $(<"$CACHE/$1/.stamp") == "$2" ]]
}

# publish PIECE STAMP FOLDER: moves a finished folder into its place.
publish() {
    local piece=$1 stamp=$2 made=$3 old=$WORK/old-${1//\//-}
    printf '%s\n' "$stamp" 2>/dev/null >"$made/.stamp" && sync -f "$made" || full_disk "$piece"
    mkdir -p "$(dirname "$CACHE/$piece")" 2>/dev/null || full_disk "$piece"
    [[ ! -e $CACHE/$piece ]] || mv "$CACHE/$piece" "$old"
    mv "$made" "$CACHE/$piece" || full_disk "$piece"
    rm -rf "$old"
}

free_mb() { df -Pm "$1" | awk 'NR == 2 { print $4 }'; }

full_disk() {
    die "$1 could not be written to $CACHE ($(free_mb "$CACHE") MB free there); free some space or point STEWARD_CACHE \
at a larger disk"
}

# blame WHAT LOG SENTENCE: dies with the sentence, or of the full disk that is behind it.
blame() {
    # On a full disk the log may be empty too, hence the trial.
    if grep -qsE 'No space left|enough free space' "$2" || ! head -c 100000 /dev/zero 2>/dev/null >"$WORK/trial"; then
        full_disk "$1"
    fi
    die "$3"
}

# make_step LOG WHAT PIECE COMMAND...: a step of a piece.
make_step() {
    local log=$1 what=$2 piece=$3
    shift 3
    step "$log" "$what" "$@" || blame "$piece" "$log" "$what for $piece failed ($(cause "$log")); run tools/setup \
again, and if that does not help remove $CACHE"
}

# fetch PIECE FOLDER PACKAGE[=VERSION]...: downloads into FOLDER/debs and unpacks into FOLDER/root.
fetch() {
    local piece=$1 dir=$2 deb log=$WORK/fetch.log
    shift 2
    mkdir -p "$dir/debs" "$dir/root" 2>/dev/null || full_disk "$piece"
    make_step "$log" "downloading ${*%%=*}" "$piece" env -C "$dir/debs" apt-get "${APT_UNPACK[@]}" download "$@"
    for deb in "$dir"/debs/*.deb; do
        make_step "$log" 'unpacking' "$piece" dpkg -x "$deb" "$dir/root"
    done
    rm -rf "$dir/debs"
}

# newest_version PACKAGE [PREFERRED]: the version starting with PREFERRED if the unpack view has it, else the newest.
newest_version() {
    local all
    all=$(apt-cache "${APT_UNPACK[@]}" madison "$1" | awk '!/Sources/ { print $3 }')
    grep -m 1 "^${2:-.}" <<<"$all" || sort -V <<<"$all" | tail -n 1
}

# kernel_packages SERIES: the packages that hold a kernel of the series, the wanted one first, else the newest.
kernel_packages() {
    local series=$1 names release
    names=$(apt-cache "${APT_UNPACK[@]}" pkgnames linux- |
        grep -E "^linux-(image|binary|image-unsigned)-${series//./\\.}[.0-9]*[-+][a-z0-9-]*(amd64|generic)$" |
        grep -vE '(rt|cloud)-amd64|binary-unsigned') || true
    [[ -n $names ]] || return 1
    release=$(sed -E 's/^linux-(image-unsigned|image|binary)-//' <<<"$names" | sort -uV)
    release=$(grep -m 1 "^${KERNEL_WANTED[$series]:-none}[-+]" <<<"$release" || tail -n 1 <<<"$release")
    if grep -q "^linux-binary-$release\$" <<<"$names"; then
        # Since 6.19 the image, the modules and the configuration are packages of their own.
        printf '%s\n' "linux-binary-$release" "linux-modules-$release" "linux-base-$release"
    elif grep -q "^linux-image-unsigned-$release\$" <<<"$names"; then
        printf '%s\n' "linux-image-unsigned-$release" "linux-modules-$release"
    else
        printf '%s\n' "linux-image-$release"
    fi
}

make_kernel() {
    local series=$1 dir=$WORK/kernel-$1 packages image release modules drop
    open_unpack_view
    mapfile -t packages < <(kernel_packages "$series")
    ((${#packages[@]} > 0)) ||
        blame "kernels/$series" /dev/null "no kernel $series is in ${UNPACK_SUITES[*]} of this machine's mirror; \
choose another with --kernels"
    say "kernel $series: downloading and unpacking ${packages[0]}"
    fetch "kernels/$series" "$dir" "${packages[@]}"
    image=$(find "$dir/root" -name 'vmlinuz*' -type f | head -n 1)
    release=$(basename "$(find "$dir/root" -path '*/modules/*' -name kernel -printf '%h\n' | head -n 1)")
    [[ -n $image && -n $release ]] ||
        blame "kernels/$series" /dev/null "${packages[0]} holds no kernel image with modules; choose another \
kernel with --kernels"
    mkdir -p "$dir/made/lib/modules" 2>/dev/null || full_disk "kernels/$series"
    modules=$dir/made/lib/modules/$release
    mv "$image" "$dir/made/vmlinuz"
    find "$dir/root" \( -name "config-$release" -o -path "*/modules/$release/config" \) \
        -exec cp {} "$dir/made/config" \;
    mv "$(find "$dir/root" -type d -path "*/modules/$release" | head -n 1)" "$modules"
    printf '%s\n' "$release" 2>/dev/null >"$dir/made/version" || full_disk "kernels/$series"
    for drop in "${UNUSED_MODULES[@]}"; do rm -rf "$modules/kernel/${drop:?}"; done
    make_step "$WORK/depmod.log" 'listing modules' "kernels/$series" /usr/sbin/depmod -b "$dir/made" "$release"
    publish "kernels/$series" "$(kernel_stamp "$series")" "$dir/made"
    rm -rf "$dir"
}

kernel_stamp() { printf 'kernel %s recipe %s' "${KERNEL_WANTED[$1]:-$1}" "$RECIPE_KERNEL"; }

build_libbpf() {
    local source=$1 to=$2
    make -C "$source/src" -j "$(nproc)" BUILD_STATIC_ONLY=y OBJDIR="$source/obj" PREFIX="$to" LIBDIR="$to/lib" \
        CFLAGS='-g -O2 -fPIC' install install_uapi_headers
}

make_libbpf() {
    local dir=$WORK/libbpf version log=$WORK/libbpf.log
    open_unpack_view
    version=$(apt-cache "${APT_UNPACK[@]}" showsrc libbpf | sed -n 's/^Version: //p' | sort -uV)
    version=$(grep -m 1 "^$LIBBPF_WANTED-" <<<"$version" || tail -n 1 <<<"$version")
    dpkg --compare-versions "${version:-0}" ge "$LIBBPF_OLDEST" ||
        blame libbpf /dev/null "the mirror's newest libbpf source is '${version:-none}' and $LIBBPF_OLDEST is needed; \
use a mirror that carries $SOURCE_SUITE"
    say "libbpf: building ${version%-*} from its source package"
    mkdir -p "$dir/source" "$dir/made" 2>/dev/null || full_disk libbpf
    make_step "$log" 'downloading the source' libbpf \
        env -C "$dir" apt-get "${APT_UNPACK[@]}" source --download-only "libbpf=$version"
    make_step "$log" 'unpacking the source' libbpf \
        tar -C "$dir/source" --strip-components=1 -xf "$(find "$dir" -maxdepth 1 -name '*.orig.tar.*' | head -n 1)"
    make_step "$log" 'compiling' libbpf build_libbpf "$dir/source" "$dir/made"
    # Relocatable, and complete for a static library without asking pkg-config for --static.
    sed -i -e "s|^prefix=.*|prefix=\${pcfiledir}/../..|" -e "s|^libdir=.*|libdir=\${prefix}/lib|" \
        -e 's|^Requires.private:|Requires:|' "$dir/made/lib/pkgconfig/libbpf.pc" 2>/dev/null || full_disk libbpf
    publish libbpf "$(libbpf_stamp)" "$dir/made"
    rm -rf "$dir"
}

libbpf_stamp() { printf 'libbpf %s recipe %s' "$LIBBPF_WANTED" "$RECIPE_LIBBPF"; }

make_vmlinux() {
    local dir=$WORK/vmlinux version header
    open_unpack_view
    version=$(newest_version linux-bpf-dev "${KERNEL_WANTED[7.3]}-")
    [[ -n $version ]] || blame include /dev/null "no linux-bpf-dev is in ${UNPACK_SUITES[*]} of this machine's mirror; \
use a mirror that carries them"
    say "vmlinux.h: unpacking linux-bpf-dev $version"
    fetch include "$dir" "linux-bpf-dev=$version"
    header=$(find "$dir/root" -name vmlinux.h | head -n 1)
    { [[ -n $header ]] && grep -q '^struct sched_ext_ops {' "$header"; } ||
        blame include /dev/null "the vmlinux.h of linux-bpf-dev $version does not know sched_ext; use a mirror with a \
newer one"
    mkdir "$dir/made" 2>/dev/null || full_disk include
    mv "$header" "$dir/made/vmlinux.h"
    publish include "$(vmlinux_stamp)" "$dir/made"
    rm -rf "$dir"
}

vmlinux_stamp() { printf 'vmlinux.h %s recipe %s' "${KERNEL_WANTED[7.3]}" "$RECIPE_VMLINUX"; }

make_virtme() {
    local dir=$WORK/virtme version
    open_unpack_view
    version=$(newest_version virtme-ng "$VIRTME_WANTED")
    [[ -n $version ]] || blame virtme-ng /dev/null "no virtme-ng is in ${UNPACK_SUITES[*]} of this machine's mirror; \
use a mirror that carries them"
    say "virtme-ng: unpacking $version"
    fetch virtme-ng "$dir" "virtme-ng=$version"
    publish virtme-ng "$(virtme_stamp)" "$dir/root"
    rm -rf "$dir"
}

virtme_stamp() { printf 'virtme-ng %s recipe %s' "$VIRTME_WANTED" "$RECIPE_VIRTME"; }
