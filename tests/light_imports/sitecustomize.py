"""Python imports this first, in each of the processes that tests start.

What they import stays, and to look through it for garbage as often as usual takes a third of a second.
"""

import gc

gc.set_threshold(10_000)
