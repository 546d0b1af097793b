"""A chat with every kind of entry, for the snapshots and the demo."""

from laguna_engine.events import Prefill
from tests.tui.scripted import Step, answer, call, thinking

ANSWER = """\
## How the cache decides

The prefix cache compares the **new tokens** with what is already in the KV cache and keeps the *longest common \
prefix*. Everything after the first difference is removed and computed again, see `cache/prefix.py`.

1. Find the first position where they differ.
2. Drop the rest with `llama_memory_seq_rm`:
   - cheap for full attention,
   - *not* possible beyond the window of a sliding-window layer.
3. Prefill what is new.

```python
def common_prefix(old: list[int], new: list[int]) -> int:
    \"\"\"How many leading tokens are equal.\"\"\"
    for index, (a, b) in enumerate(zip(old, new)):
        if a != b:
            return index  # the first difference
    return min(len(old), len(new))
```

> A change near the front costs a whole prefill; a change at the end costs almost nothing.

| change | kept | cost |
|:-------|-----:|-----:|
| a new question | 1,180 | 0.1 s |
| an edited file | 402 | 1.9 s |
| another system prompt | 0 | 4.2 s |

More in [the design notes](https://example.org/design).
"""

THOUGHT = (
    "The user asks how the cache decides what to keep.\n"
    "I should look for the prefix code first, then read it, and only then answer.\n"
    "The names suggest cache/prefix.py.\n"
)

FOUND = """\
common_prefix cache/prefix.py:41: def common_prefix(old: list[int], new: list[int]) -> int:
PrefixCache cache/prefix.py:12: class PrefixCache:
keep cache/prefix.py:77:     keep = common_prefix(self.tokens, tokens)"""

READ = "\n".join(f"{number}: line {number} of the file" for number in range(41, 61))

QUESTION = "How does the cache decide what to keep?"

BEFORE: list[Step] = [
    *(Prefill(done, 1200, 200, (done - 200) / 500) for done in range(200, 1200, 100)),
    *thinking(THOUGHT),
    *call(1, "search", FOUND, pattern="prefix"),
    *call(2, "read", READ, path="cache/prefix.py", start=41, end=60),
    *call(3, "read", "error: no file cache/nope.py; use find to see what there is", ok=False, path="cache/nope.py"),
]

STORY: list[Step] = answer(ANSWER, before=BEFORE)
DRAFTED: list[Step] = answer(ANSWER, before=BEFORE, draft=True)
