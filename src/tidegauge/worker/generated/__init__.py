"""Generated from proto/worker.proto by `make proto`; never edited."""
