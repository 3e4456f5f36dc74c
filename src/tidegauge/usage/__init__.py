"""What a result used of what there was, and what it costs: pure functions of results, ceilings and prices."""
