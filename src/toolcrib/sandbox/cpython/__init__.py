"""The back-end `python-full`: CPython behind bubblewrap or Landlock, with seccomp and limits of the kernel."""
