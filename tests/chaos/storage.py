"""Disks that are full, read-only or gone, clocks that jump, locks that stay: one clear line, and later the same command
goes on."""

import ctypes
import errno
import fcntl
import json
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RLIMIT_FSIZE, setrlimit

from chaos.arena import Arena, Trial
from chaos.operations import Counter, watch
from chaos.victim import Victim

COMMANDS = ("train", "debias", "tune", "data get", "cache", "export")
CAPABILITIES = 0x20080522  # version 3 of what capset takes
YEAR = 365 * 86400.0


class MayNotMount(Exception):
    """Only root may, and not everywhere."""


@contextmanager
def mounted(folder: Path, size: int) -> Iterator[None]:
    """A file system of its own, with so many bytes."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "chaos", folder], capture_output=True)
    if done.returncode:
        raise MayNotMount("mounting a tmpfs is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def remount(folder: Path, *options: str) -> None:
    subprocess.run(["mount", "-o", ",".join(["remount", *options]), folder], check=True)


def refused(victim: Victim, *parts: str) -> str:
    """A complaint, unless it ended with code 2 and one line in which one of these words stands; or by itself, well."""
    lines = [line for line in victim.words.splitlines() if line.startswith("fairflac: ")]
    if victim.code == 0:
        return ""
    if victim.code != 2 or len(lines) != 1 or victim.last_line != lines[0]:
        return f"ended with code {victim.code}: {victim.last_line}"
    return "" if any(part in lines[0] for part in parts) else f"says another thing: {lines[0]}"


def _then_again(arena: Arena, fault: str, trial: Trial, first: Victim, *parts: str) -> None:
    """Once the disk is well, the same command."""
    if complaint := refused(first, *parts):
        arena.enter(fault, trial, "in the fault", complaint)
    else:
        arena.judge(fault, trial, f"code {first.code}, then well")


def full_disk(arena: Arena, command: str) -> None:
    reference = arena.reference(command)
    with arena.trial(command) as trial:
        size = int(arena.rng.uniform(0.02, 0.98) * reference.bytes)
        with mounted(trial.folder, max(size, 4096)):
            first = trial.finish()
            remount(trial.folder, f"size={4 * reference.bytes + 2**24}")
            _then_again(arena, "full disk", trial, first, "the disk is full")


def read_only(arena: Arena, command: str) -> None:
    with arena.trial(command) as trial, mounted(trial.folder, 2**28):
        remount(trial.folder, "ro")
        first = trial.finish()
        remount(trial.folder, "rw")
        if first.code == 0:
            arena.enter("read-only", trial, "at the start", "ended well, though nothing could be written")
            return
        _then_again(arena, "read-only", trial, first, "read-only", "nothing can be written", "no permission")


def write_protected(arena: Arena, command: str) -> None:
    """All folders lose their permission to write while the command runs."""
    with arena.trial(command) as trial:
        victim = trial.start(_without_privileges)
        victim.wait_until(arena.rng.random() * arena.reference(command).seconds)
        _permit(trial.folder, 0o555)
        victim.wait()
        _permit(trial.folder, 0o755)
        _then_again(arena, "no permission any more", trial, victim, "no permission", "nothing can be written")


def _without_privileges() -> None:
    """Root writes anywhere. Without its capabilities it is a user like others, who can read what is root's."""
    header, none = struct.pack("Ii", CAPABILITIES, 0), bytes(24)
    if ctypes.CDLL(None, use_errno=True).capset(header, none):
        raise OSError(ctypes.get_errno(), "capset")


def _permit(folder: Path, mode: int) -> None:
    for parent, _, _ in os.walk(folder):
        os.chmod(parent, mode)


def file_limit(arena: Arena, command: str) -> None:
    """A limit of the system for the size of a file."""
    largest = 2**14
    with arena.trial(command) as trial:
        limit = arena.rng.randrange(200, largest)
        first = trial.finish(lambda: setrlimit(RLIMIT_FSIZE, (limit, limit)))
        _then_again(arena, "file too large", trial, first, "larger than")


def quota(arena: Arena, command: str) -> None:
    """Of a network disk, which says so only when a file is synced."""

    def exceed() -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    with arena.trial(command) as trial:
        counter = Counter(arena.rng.randint(1, _syncs(arena, command)), exceed)

        def only_syncs(kind: str, places: list[str]) -> None:
            if kind == "fsync":
                counter(kind, places)

        first = trial.finish(lambda: watch(trial.folder, only_syncs))
        _then_again(arena, "quota", trial, first, "quota")


def _syncs(arena: Arena, command: str) -> int:
    """About so many: of four operations on a file one syncs it."""
    return max(1, arena.reference(command).operations // 5)


def real_quota(arena: Arena, command: str) -> None:
    """The system's own, of btrfs, which counts for root too."""
    reference = arena.reference(command)
    with arena.trial(command) as trial, btrfs(trial.folder, trial.aside / "disk", 2**27 + 8 * reference.bytes):
        limit_bytes(trial.folder, QUOTA_LEAST + int(arena.rng.uniform(0.02, 0.98) * reference.bytes))
        first = trial.finish()
        limit_bytes(trial.folder, None)
        _then_again(arena, "quota of the system", trial, first, "quota")


# From linux/btrfs.h: two requests, and the group of all files of a new disk.
QUOTA_CTL, QGROUP_LIMIT, ALL_FILES = 0xC0109428, 0x8030942B, 5
QUOTA_LEAST = 2**16  # what the folders of a new disk take


@contextmanager
def btrfs(folder: Path, image: Path, size: int) -> Iterator[None]:
    """A disk of its own that has quotas."""
    try:
        with image.open("wb") as stream:
            stream.truncate(size)
        subprocess.run(["mkfs.btrfs", "--quiet", image], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", image, folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise MayNotMount("there is no btrfs here, or it may not be mounted") from None
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)
        image.unlink()


def limit_bytes(folder: Path, most: int | None) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.ioctl(handle, QUOTA_CTL, struct.pack("QQ", 1, 0))  # enable
        value = 2**64 - 1 if most is None else most
        fcntl.ioctl(handle, QGROUP_LIMIT, struct.pack("6Q", ALL_FILES, 1, value, 0, 0, 0))
    finally:
        os.close(handle)


def vanished(arena: Arena, command: str) -> None:
    """All that was written so far is gone, folders too, while the command runs."""
    with arena.trial(command) as trial:
        victim = trial.start()
        victim.wait_until(arena.rng.random() * arena.reference(command).seconds)
        for entry in list(trial.folder.iterdir()):
            entry.rename(trial.aside / f"gone-{entry.name}")
        victim.wait()
        shutil.rmtree(trial.folder)
        trial.folder.mkdir()
        gone = ("no such file or folder", "is gone", "has this run", "is not in", "has no images")
        _then_again(arena, "folder vanishes", trial, victim, *gone)


def clock(arena: Arena, command: str) -> None:
    """Jumps of days, to and fro, inside of the program; and files whose times lie ahead."""
    jumps = [arena.rng.uniform(-3, 3) * YEAR for _ in range(50)]

    def jumping() -> None:
        now, calls = time.time, iter(range(10**9))
        time.time = lambda: now() + jumps[next(calls) % len(jumps)]

    with arena.trial(command) as trial:
        counter = Counter(arena.rng.randint(1, arena.reference(command).operations), lambda: os.kill(os.getpid(), 9))
        trial.finish(lambda: (jumping(), watch(trial.folder, counter))[0])
        for path in trial.folder.rglob("*"):
            then = time.time() + arena.rng.choice(jumps)
            os.utime(path, (then, then))
        arena.judge("clock jumps", trial, "killed, and again", jumping)


def two_at_once(arena: Arena, command: str) -> None:
    """Each ends well, or says who is at work."""
    with arena.trial(command) as trial:
        first = trial.start()
        first.wait_until(arena.rng.random() * arena.reference(command).seconds)
        second = trial.start()
        first.wait()
        second.wait()
        complaints = [refused(first, "in use by process"), refused(second, "in use by process")]
        complaints += ["both gave up"] * (first.code != 0 and second.code != 0)
        if wrong := "; ".join(filter(None, complaints)):
            arena.enter("two at once", trial, "both", wrong)
        else:
            arena.judge("two at once", trial, f"codes {first.code} and {second.code}")


def dead_machine(arena: Arena, command: str, without_flock: bool = False) -> None:
    """Another machine held every lock when it died; `without_flock`: on a disk that has no locks of the system."""
    fault = "lock of a dead machine" + (", no flock" if without_flock else "")
    prepare = _no_flock if without_flock else None
    with arena.trial(command) as trial:
        counter = Counter(arena.rng.randint(1, arena.reference(command).operations), lambda: os.kill(os.getpid(), 9))

        def begin() -> None:
            if prepare:
                prepare()
            watch(trial.folder, counter)

        trial.finish(begin)
        for owner in trial.folder.rglob("owner.json"):
            owner.write_text(json.dumps({"pid": 1, "host": "a-machine-that-is-gone"}))
        if without_flock:  # killed between making a lock and writing whose it is: the advice is to remove it
            for lock in trial.folder.rglob("*lock"):
                lock.unlink()
        arena.judge(fault, trial, "killed, and again", prepare)


def _no_flock() -> None:
    def flock(handle: int, operation: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    fcntl.flock = flock  # type: ignore[assignment]


def no_flock(arena: Arena, command: str) -> None:
    dead_machine(arena, command, without_flock=True)


def nfs_rename(arena: Arena, command: str) -> None:
    """The server renames, its answer is lost, and it says to the second request that there is no such file.

    Beside it lies what NFS makes of a file that was removed while it was open.
    """
    share = arena.rng.uniform(0.02, 0.3)

    def lossy() -> None:
        rename, draw = os.replace, arena.rng.random

        def replace(source: str, target: str) -> None:
            rename(source, target)
            if draw() < share:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source, None, target)

        os.replace = replace  # type: ignore[assignment]

    with arena.trial(command) as trial:
        first = trial.finish(lossy)
        _then_again(arena, "NFS rename", trial, first, "no such file or folder")


KINDS: dict[str, Callable[[Arena, str], None]] = {
    "full disk": full_disk,
    "read-only": read_only,
    "no permission any more": write_protected,
    "file too large": file_limit,
    "quota": quota,
    "quota of the system": real_quota,
    "folder vanishes": vanished,
    "clock jumps": clock,
    "two at once": two_at_once,
    "lock of a dead machine": dead_machine,
    "lock of a dead machine, no flock": no_flock,
    "NFS rename": nfs_rename,
}


def disturb(arena: Arena, fault: str, command: str) -> None:
    """One trial, or why there is none."""
    try:
        KINDS[fault](arena, command)
    except MayNotMount as error:
        arena.ledger.skipped[fault] = str(error)
