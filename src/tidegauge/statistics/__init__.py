"""Pure statistics of trials: merged histograms, summaries with sample minimums, steady state, validity."""
