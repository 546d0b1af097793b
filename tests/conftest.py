"""Property tests try the same examples on every run, so that CI tells of the change and not of the day.

`make fuzz` looks further, with other examples each time; what it finds becomes an `@example`.
"""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("fuzz", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile("fuzz" if os.environ.get("LAGUNA_TUI_FUZZ") else "fixed")
