"""`python -m laguna_tui` is `laguna-tui`."""

import sys

from laguna_tui.cli import main

sys.exit(main())
