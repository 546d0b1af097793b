"""The sandbox of commands: bubblewrap or Landlock on Linux, sandbox-exec on macOS.

A command sees the machine's programs and the workspace. It has no network, writes to the workspace and a private
temporary folder only, cannot read credentials under the home folder, and cannot change what git, assistants and
editors execute. `probe` says which sandbox works here, `launch` turns a command into one that starts inside it.
"""
