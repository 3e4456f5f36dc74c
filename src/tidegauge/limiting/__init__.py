"""What limits a throughput result: pure rules over what was used and what there was to use."""
