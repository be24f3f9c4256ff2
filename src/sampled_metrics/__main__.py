"""``python -m sampled_metrics``: the command line."""

import sys

from sampled_metrics.cli import main

sys.exit(main())
