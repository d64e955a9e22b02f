"""Shuts a process in: Landlock for files, seccomp for everything else, limits of the kernel. Linux only.

Runs inside the child, with nothing but the standard library: its text is sent there. None of it needs a privilege,
and none can be taken back by the process.

Landlock: docs.kernel.org/userspace-api/landlock.html. Seccomp: the kernel's `seccomp_filter.rst`; numbers of system
calls from `asm/unistd_64.h` (x86-64) and `asm-generic/unistd.h` (arm64).
"""

import ctypes
import os
import platform
import resource
import signal
import struct
from collections.abc import Sequence
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_EPERM, _ENOSYS = 1, 38
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_CLONE_THREAD = 0x10000
_NEWER = 424
"""From here on system calls have one number everywhere. None is needed, among them io_uring, pidfd and clone3."""

# names in one order, numbers in two
DENIED = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "fork": (57, -1),
    "vfork": (58, -1),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "setsid": (112, 157),
    "setpgid": (109, 154),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "syslog": (103, 116),
    "fanotify_init": (300, 262),
    "inotify_init": (253, -1),
    "inotify_init1": (294, 26),
    "mknod": (133, -1),
    "mknodat": (259, 33),
    "setuid": (105, 146),
    "setgid": (106, 144),
    "setreuid": (113, 145),
    "setregid": (114, 143),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
    "setgroups": (116, 159),
    "setfsuid": (122, 151),
    "setfsgid": (123, 152),
    "capset": (126, 91),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "memfd_create": (319, 279),
    "setrlimit": (160, 164),
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    # Landlock knows nothing of who owns a file and when it was changed
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, -1),
    "fchown": (93, 55),
    "lchown": (94, -1),
    "fchownat": (260, 54),
    "utime": (132, -1),
    "utimes": (235, -1),
    "futimesat": (261, -1),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "truncate": (76, 45),
}
MACHINES = {"x86_64": (0, 0xC000003E, 56), "aarch64": (1, 0xC00000B7, 220)}
"""For each machine its column above, its number as seccomp has it, and the number of `clone`."""

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_LANDLOCK_VERSION = 1
_PATH_BENEATH = 1
_EXECUTE, _READ_FILE, _READ_DIR = 1, 4, 8

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    """Be killed when the thread that started this process ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def limit(*, memory: int, cpu: float) -> None:
    """Bound what this process may use, from now on and for good.

    Args:
        memory: Bytes of address space beyond what it has now.
        cpu: Seconds of processor time beyond what it has used.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime + cpu) + 1
    _set(resource.RLIMIT_AS, _address_space() + memory)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    for kind, most in ((resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, 64)):
        _set(kind, most)


def _set(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def _address_space() -> int:
    """Bytes of address space in use; where /proc is hidden, what CPython has been seen to take."""
    with suppress(OSError, ValueError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
    return 96 * 1024 * 1024


def landlock(readable: Sequence[str]) -> int:
    """Allow nothing of the file system but reading some paths, and no TCP.

    Args:
        readable: Files, and folders with all that is in them.

    Returns:
        The version of Landlock that was used.

    Raises:
        OSError: The kernel has no Landlock, or refuses it.
    """
    version = _call(_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION)
    rights = (1 << 13) - 1 | (version >= 2) << 13 | (version >= 3) << 14 | (version >= 5) << 15
    attributes = struct.pack("=QQQ", rights, 3, 3)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _call(_LANDLOCK_CREATE, attributes, len(attributes), 0)
    for path in readable:
        with suppress(FileNotFoundError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allowed = _EXECUTE | _READ_FILE | (_READ_DIR if os.path.isdir(path) else 0)
            try:
                _call(_LANDLOCK_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", allowed, place), 0)
            finally:
                os.close(place)
    no_new_privileges()
    _call(_LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)
    return version


def no_new_privileges() -> None:
    """Gain nothing by executing a program; what the kernel asks of those who filter their system calls."""
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs is refused")


def seccomp() -> None:
    """Refuse every system call that a script has no business with.

    Raises:
        OSError: The kernel refuses the filter, or nobody knows this machine's numbers.
    """
    program = _program(platform.machine())
    code = ctypes.create_string_buffer(program)
    # struct sock_fprog: a count of 8-byte instructions, and where they are
    head = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    no_new_privileges()
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, head, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp is refused")


def _program(machine: str) -> bytes:
    """The filter in BPF."""
    if machine not in MACHINES:
        raise OSError(_ENOSYS, f"no filter for {machine}")
    column, architecture, clone = MACHINES[machine]
    numbers = [pair[column] for pair in DENIED.values() if pair[column] >= 0]
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    size = len(numbers)
    # behind the list: clone 3 instructions, then allow, EPERM, ENOSYS
    code = [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (give, 0, 0, _KILL),
        (load, 0, 0, 0),
        (at_least, size + 5, 0, _NEWER),
    ]
    code += [(equal, size - at + 3, 0, number) for at, number in enumerate(numbers)]
    code += [
        (equal, 0, 2, clone),
        (load, 0, 0, 16),
        (any_bit, 0, 1, _CLONE_THREAD),
        (give, 0, 0, _ALLOW),
        (give, 0, 0, _ERRNO | _EPERM),
        (give, 0, 0, _ERRNO | _ENOSYS),
    ]
    return b"".join(struct.pack("=HBBI", *each) for each in code)


def _call(number: int, *args: object) -> int:
    converted = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    result = _libc.syscall(ctypes.c_long(number), *converted)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)
