"""Are the systems of a comparison on equal terms? Rules over plain data: pure, no I/O."""
