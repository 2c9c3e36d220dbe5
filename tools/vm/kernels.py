# SPDX-License-Identifier: GPL-2.0-only
"""Which kernels can be booted, and where they are."""

import os
import pwd
import re
import struct
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
OWN_KERNEL = "6.12"  # Debian's has sched_ext off, so this one does not come from a package


class Refusal(Exception):
    """Wrong input: one sentence, status 2."""


class Impossible(Exception):
    """The machine cannot do it: one sentence, status 77, which test runners count as a skip."""


@dataclass
class Kernel:
    name: str
    image: Path
    release: str
    config: Path | None
    modules: Path | None

    @property
    def hz(self):
        """Ticks per second, 250 where the configuration is unknown."""
        if self.config:
            found = re.search(r"^CONFIG_HZ=(\d+)$", self.config.read_text(), re.M)
            if found:
                return int(found.group(1))
        return 250


def home():
    """The user's folder, also where HOME is not set."""
    try:
        return os.environ.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        raise Refusal("your home folder is not known; set STEWARD_CACHE as for tools/setup") from None


def cache():
    """The cache folder of tools/setup, found as tools/lib/pieces.sh does."""
    said = os.environ.get("STEWARD_CACHE")
    if not said:
        said = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(home(), ".cache"), "scx_steward")
    folder = Path(said).absolute()
    if re.search(r"\s", str(folder)):
        raise Refusal(f"the cache folder '{folder}' has white space in its path; set STEWARD_CACHE to one without")
    return folder


def image_release(image):
    """The release in the header of a bzImage, or None if the file is no kernel image."""
    try:
        with open(image, "rb") as file:
            head = file.read(0x8000)
    except OSError:
        return None
    if head[0x202:0x206] != b"HdrS":
        return None
    (pointer,) = struct.unpack_from("<H", head, 0x20E)
    text = head[pointer + 0x200 : pointer + 0x200 + 128].split(b"\0")[0]
    return text.split(b" ")[0].decode("ascii", "replace") or None


def load(name, image):
    """The kernel of an image file, with the configuration and modules found beside it."""
    image = Path(image).absolute()
    release = image_release(image)
    if release is None:
        raise Refusal(f"{image} is not a kernel image that can be booted; give the path of a vmlinuz or bzImage")
    configs = [image.parent / "config", image.parent / f"config-{release}"]
    modules = [image.parent / "lib/modules" / release, image.parents[1] / "lib/modules" / release]
    return Kernel(
        name,
        image,
        release,
        next((path for path in configs if path.is_file()), None),
        next((path for path in modules if (path / "modules.dep").is_file()), None),
    )


def own_image():
    """The image of the 6.12 kernel, wherever it is said or known to be."""
    said = os.environ.get("STEWARD_KERNEL_6_12")
    return Path(said) if said else REPO.parent / "shared/kernels" / OWN_KERNEL / "vmlinuz"


def series_key(series):
    return [int(part) for part in series.split(".")]


def available():
    """Series to image, oldest first."""
    found = {}
    for image in cache().glob("kernels/*/vmlinuz"):
        if re.fullmatch(r"\d+\.\d+", image.parent.name):
            found[image.parent.name] = image
    if own_image().is_file():
        found[OWN_KERNEL] = own_image()
    return {series: found[series] for series in sorted(found, key=series_key)}


def find(name):
    """The kernel that the user named; the newest one if no name is given."""
    have = available()
    if name is None:
        if not have:
            raise Impossible(f"there is no guest kernel in {cache()}; run tools/setup")
        name = list(have)[-1]
    if name in have:
        return load(name, have[name])
    if "/" in name or os.path.exists(name):
        if not os.path.isfile(name):
            raise Refusal(f"there is no kernel image {name}; give the path of a vmlinuz or bzImage")
        return load(name, name)
    choices = ", ".join(have) or "none yet"
    if name == OWN_KERNEL:
        raise Impossible(f"kernel {name} is not here; set STEWARD_KERNEL_6_12 to its vmlinuz (here now: {choices})")
    if re.fullmatch(r"\d+\.\d+", name):
        raise Impossible(f"kernel {name} is not in {cache()}; run tools/setup --kernels {name} (here now: {choices})")
    raise Refusal(f"'{name}' is not a kernel; give a path or one of: {choices}")
