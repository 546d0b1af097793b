"""What a model sees, recorded: prompts, tool results, errors, retries and compaction, a file for each scenario.

`python -m tests.agent_transcripts` replays the scenarios and shows what differs from `recorded/`; with `--update` it
writes them anew. A change of a prompt or of a tool is then a diff that can be read.
"""
