"""System calls of the sandbox: Landlock, seccomp, inotify, and programs that hold a tree of processes."""
