# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
#
# Which packages and kernels each distribution offers. To be sourced.
#
# PACKAGES        installed from the distribution itself
# NEWER           "package minimum-version", installed from NEWER_SUITE where the distribution's own is too old
# NEWER_WITH      packages that may come from NEWER_SUITE because one of NEWER needs them
# UNPACK_SUITES   suites of the same mirror from which kernels and tools are unpacked, never installed
# SOURCE_SUITE    the suite that holds the source package of libbpf

PACKAGES=(
    ca-certificates git make g++ pkg-config ninja-build xz-utils zstd cpio
    clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev llvm-19
    libelf-dev zlib1g-dev libzstd-dev
    libabsl-dev libcli11-dev nlohmann-json3-dev libspdlog-dev libfmt-dev libasio-dev libsystemd-dev libncurses-dev
    libgtest-dev libgmock-dev libbenchmark-dev librapidcheck-dev
    python3 python3-matplotlib python3-pkg-resources python3-argcomplete python3-requests
    udev kmod busybox-static file
    stress-ng linux-perf rt-tests numactl iproute2 procps util-linux psmisc
    shellcheck codespell scdoc gcovr
)
NEWER=('meson 1.3' 'bpftool 7.5' 'qemu-system-x86 1:9')
NEWER_WITH=(qemu-system-common qemu-system-data seabios ipxe-qemu)
NEWER_SUITE=''
UNPACK_SUITES=(trixie trixie-backports)
SOURCE_SUITE=sid
LIBBPF_WANTED=1.7.0
LIBBPF_OLDEST=1.5
VIRTME_WANTED=1.35

# The exact kernels that the project's numbers were measured on. Where one has left the mirror, the newest of the same
# series is taken.
DEFAULT_KERNELS=(6.16 6.18 7.3)
declare -A KERNEL_WANTED=([6.16]=6.16.3 [6.17]=6.17.13 [6.18]=6.18.15 [7.3]=7.3.4)

DISTRO=unknown
DISTRO_TESTED=no

detect_distro() {
    local id='' version=''
    if [[ -r ${OS_RELEASE:-/etc/os-release} ]]; then
        id=$(. "${OS_RELEASE:-/etc/os-release}" && printf '%s' "${ID:-}")
        version=$(. "${OS_RELEASE:-/etc/os-release}" && printf '%s' "${VERSION_ID:-}")
    fi
    case $id:$version in
        debian:12)
            DISTRO='debian 12' DISTRO_TESTED=yes
            NEWER_SUITE=bookworm-backports
            ;;
        debian:13)
            DISTRO='debian 13'
            ;;
        ubuntu:25.04)
            DISTRO='ubuntu 25.04'
            # perf and bpftool come with the kernel's tools there; kernels and vmlinux.h are the distribution's own.
            PACKAGES=("${PACKAGES[@]/#linux-perf/linux-tools-generic}")
            NEWER=('meson 1.3' 'qemu-system-x86 1:9')
            UNPACK_SUITES=(plucky plucky-updates)
            SOURCE_SUITE=plucky
            VIRTME_WANTED=''
            DEFAULT_KERNELS=(6.14)
            ;;
        *)
            DISTRO="${id:-unknown} ${version}"
            return 1
            ;;
    esac
}
