"""Published reports: their figures and claims as data, and whether the claims' ordering and shape hold in a run."""
